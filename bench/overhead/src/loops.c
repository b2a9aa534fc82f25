/*
 * The same loops as the workloads, as one writes them by hand: nothing between the system calls but a counter, and the
 * flag looked at every 64 operations. Each answers how many operations it did and leaves 0 or an errno in *error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 64

uint64_t loop_open_close(const char *path, int fd, const volatile uint32_t *stop, int *error)
{
	uint64_t ops = 0;

	(void)fd;
	while (!*stop) {
		for (int i = 0; i < BATCH; i++) {
			int own = open(path, O_RDWR);
			if (own < 0 || close(own) < 0) {
				*error = errno;
				return ops;
			}
			ops++;
		}
	}
	return ops;
}

uint64_t loop_fstat(const char *path, int fd, const volatile uint32_t *stop, int *error)
{
	struct stat st;
	uint64_t ops = 0;

	(void)path;
	while (!*stop) {
		for (int i = 0; i < BATCH; i++) {
			if (fstat(fd, &st) < 0) {
				*error = errno;
				return ops;
			}
			ops++;
		}
	}
	return ops;
}

uint64_t loop_lseek(const char *path, int fd, const volatile uint32_t *stop, int *error)
{
	uint64_t ops = 0;

	(void)path;
	while (!*stop) {
		for (int i = 0; i < BATCH; i++) {
			if (lseek(fd, 0, SEEK_SET) < 0) {
				*error = errno;
				return ops;
			}
			ops++;
		}
	}
	return ops;
}
