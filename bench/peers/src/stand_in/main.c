/* Stands in for will-it-scale's driver in the tests of bench/peers: told and printing the same, with nothing of its code. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char *testcase_description;
void testcase(unsigned long long *iterations, unsigned long nr);

/* A counter of each task, on a cache line of its own. */
#define STRIDE 32

int main(int argc, char **argv)
{
	int tasks = 1, seconds = 5, option;
	while ((option = getopt(argc, argv, "t:s:")) != -1) {
		if (option == 't')
			tasks = atoi(optarg);
		else
			seconds = atoi(optarg);
	}
	volatile unsigned long long *counters =
		mmap(NULL, tasks * STRIDE * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED)
		return 1;
	printf("testcase:%s\nwarmup\n", testcase_description);
	fflush(stdout);
	pid_t pids[tasks];
	for (int task = 0; task < tasks; task++) {
		pids[task] = fork();
		if (pids[task] == 0)
			testcase((unsigned long long *)&counters[task * STRIDE], task);
	}
	unsigned long long before = 0, sum = 0;
	/* The first second is the warm-up. */
	for (int second = 0; second <= seconds; second++) {
		unsigned long long total = 0;
		sleep(1);
		for (int task = 0; task < tasks; task++)
			total += counters[task * STRIDE];
		if (second > 0)
			sum += total - before;
		printf("min:0 max:0 total:%llu\n", total - before);
		before = total;
	}
	for (int task = 0; task < tasks; task++) {
		kill(pids[task], SIGKILL);
		waitpid(pids[task], NULL, 0);
	}
	printf("average:%llu\n", sum / seconds);
	return 0;
}
