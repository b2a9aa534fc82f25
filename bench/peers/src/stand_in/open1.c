/* open and close of a task's own file, for the tests of bench/peers. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *testcase_description = "own file, open and close";

void testcase(unsigned long long *iterations, unsigned long nr)
{
	char path[64] = "/tmp/vfscale-stand-in.XXXXXX";
	int made = mkstemp(path);
	(void)nr;
	/* Nothing is left when the task is killed. */
	if (made < 0 || unlink(path))
		exit(1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	for (;;) {
		int fd = open(path, O_RDWR);
		if (fd < 0)
			exit(1);
		close(fd);
		(*iterations)++;
	}
}
