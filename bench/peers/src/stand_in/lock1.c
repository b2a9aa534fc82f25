/* Lock and unlock of a byte of a task's own file, each counted, for the tests of bench/peers. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

char *testcase_description = "own file, lock and unlock";

void testcase(unsigned long long *iterations, unsigned long nr)
{
	char path[] = "/tmp/vfscale-stand-in.XXXXXX";
	int fd = mkstemp(path);
	(void)nr;
	if (fd < 0 || unlink(path))
		exit(1);
	for (;;) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		if (fcntl(fd, F_SETLKW, &lock))
			exit(1);
		lock.l_type = F_UNLCK;
		if (fcntl(fd, F_SETLKW, &lock))
			exit(1);
		*iterations += 2;
	}
}
