/*-------------------------------------------------------------------------
 *
 * lwtune_fault.c
 *	  Makes a chosen call of lwtune fail: for LD_PRELOAD.
 *
 * LWTUNE_FAULT=function:number makes the number-th call (from 1) of that
 * function fail, with a plus behind the number every later call too.  Several
 * are separated by commas.  Only calls from within lwtune.so count, which the
 * return address tells, so the server itself never notices.  Each failure adds
 * a line to the file that LWTUNE_FAULT_LOG names.
 *
 * Some are not functions but answers: "mdwe" is the kernel's that written
 * memory must not become executable; "near" makes mmap() give memory far from
 * where it was asked for, as kernels do that do not know MAP_FIXED_NOREPLACE;
 * "taken" makes it say that something is there already; "short" makes pread()
 * read less than it was asked for, "eof" nothing.
 *
 * LWTUNE_FAULT_PROCESS has the kernel itself forbid something to this process
 * and all that it starts:
 *
 *	mdwe				written memory never becomes executable
 *	seccomp				the same, as a filter of system calls
 *	seccomp-mprotect	no memory becomes executable, with the error of SELinux
 *	seccomp-mremap		no memory is moved
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_MDWE_REFUSE_EXEC_GAIN
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* the server's blocks; lwtune's scratch memory is larger */
#define LARGE_MALLOC 16384

#define FUNCTIONS(F) \
	F(mmap) F(mprotect) F(mremap) F(munmap) F(madvise) F(open) F(close) F(pread) \
	F(opendir) F(readdir) F(closedir) F(dlopen) F(dlsym) F(dladdr1) F(dlclose) \
	F(dl_iterate_phdr) F(sigprocmask) F(prctl) F(malloc) \
	F(mdwe) F(near) F(taken) F(short) F(eof)

enum
{
#define F(name) FAULT_##name,
	FUNCTIONS(F)
#undef F
	NFUNCTIONS
};

static const char *const names[] = {
#define F(name) #name,
	FUNCTIONS(F)
#undef F
};

static struct
{
	long		calls;
	long		fail_at;		/* 0: never */
	bool		and_after;
}			faults[NFUNCTIONS];

extern void *__libc_malloc(size_t size);

static void *(*real_dlsym) (void *, const char *);
static void *(*real_dlopen) (const char *, int);
static int	(*real_dladdr1) (const void *, Dl_info *, void **, int);
static int	(*real_dl_iterate_phdr) (int (*) (struct dl_phdr_info *, size_t, void *), void *);
static void *(*real_mmap) (void *, size_t, int, int, int, off_t);
static int	(*real_mprotect) (void *, size_t, int);
static void *(*real_mremap) (void *, size_t, size_t, int,...);
static int	(*real_munmap) (void *, size_t);
static int	(*real_madvise) (void *, size_t, int);
static int	(*real_open) (const char *, int,...);
static int	(*real_close) (int);
static ssize_t (*real_pread) (int, void *, size_t, off_t);
static DIR *(*real_opendir) (const char *);
static struct dirent *(*real_readdir) (DIR *);
static int	(*real_closedir) (DIR *);
static int	(*real_dlclose) (void *);
static int	(*real_sigprocmask) (int, const sigset_t *, sigset_t *);
static int	(*real_prctl) (int,...);

static void
resolve(void)
{
	if (real_prctl != NULL)
		return;
	/* dlsym is one of those that are replaced here */
	real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (real_dlsym == NULL)
		real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (real_dlsym == NULL)
		real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
	if (real_dlsym == NULL)
		abort();
	real_dlopen = real_dlsym(RTLD_NEXT, "dlopen");
	real_dladdr1 = real_dlsym(RTLD_NEXT, "dladdr1");
	real_dl_iterate_phdr = real_dlsym(RTLD_NEXT, "dl_iterate_phdr");
	real_mmap = real_dlsym(RTLD_NEXT, "mmap");
	real_mprotect = real_dlsym(RTLD_NEXT, "mprotect");
	real_mremap = real_dlsym(RTLD_NEXT, "mremap");
	real_munmap = real_dlsym(RTLD_NEXT, "munmap");
	real_madvise = real_dlsym(RTLD_NEXT, "madvise");
	real_open = real_dlsym(RTLD_NEXT, "open");
	real_close = real_dlsym(RTLD_NEXT, "close");
	real_pread = real_dlsym(RTLD_NEXT, "pread");
	real_opendir = real_dlsym(RTLD_NEXT, "opendir");
	real_readdir = real_dlsym(RTLD_NEXT, "readdir");
	real_closedir = real_dlsym(RTLD_NEXT, "closedir");
	real_dlclose = real_dlsym(RTLD_NEXT, "dlclose");
	real_sigprocmask = real_dlsym(RTLD_NEXT, "sigprocmask");
	real_prctl = real_dlsym(RTLD_NEXT, "prctl");
}

static bool
is_lwtune(void *caller)
{
	Dl_info		info;
	const char *name;

	if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
		return false;
	name = strrchr(info.dli_fname, '/');
	return strcmp(name ? name + 1 : info.dli_fname, "lwtune.so") == 0;
}

static void
tell(int function)
{
	const char *path = getenv("LWTUNE_FAULT_LOG");
	char		line[64];
	int			length;
	int			file;

	if (path == NULL)
		return;
	file = real_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	length = snprintf(line, sizeof(line), "%s:%ld\n", names[function], faults[function].calls);
	if (write(file, line, length) != length)
		abort();
	real_close(file);
}

static bool
fails(int function, void *caller)
{
	resolve();
	if (faults[function].fail_at == 0 || !is_lwtune(caller))
		return false;
	faults[function].calls++;
	if (faults[function].calls != faults[function].fail_at &&
		!(faults[function].and_after && faults[function].calls > faults[function].fail_at))
		return false;
	tell(function);
	return true;
}

#define FAILS(name) fails(FAULT_##name, __builtin_return_address(0))

void *
mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
	if (FAILS(mmap))
	{
		errno = ENOMEM;
		return MAP_FAILED;
	}
	/* of memory at a place, not of a file's */
	if (address != NULL && file < 0)
	{
		if (FAILS(taken))
		{
			errno = EEXIST;
			return MAP_FAILED;
		}
		if (FAILS(near))
		{
			address = NULL;
			flags &= ~MAP_FIXED_NOREPLACE;
		}
	}
	return real_mmap(address, length, protection, flags, file, offset);
}

int
munmap(void *address, size_t length)
{
	if (FAILS(munmap))
	{
		errno = EINVAL;
		return -1;
	}
	return real_munmap(address, length);
}

int
madvise(void *address, size_t length, int advice)
{
	if (FAILS(madvise))
	{
		errno = EINVAL;
		return -1;
	}
	return real_madvise(address, length, advice);
}

int
mprotect(void *address, size_t length, int protection)
{
	if (FAILS(mprotect))
	{
		errno = EACCES;
		return -1;
	}
	return real_mprotect(address, length, protection);
}

void *
mremap(void *address, size_t old_size, size_t new_size, int flags,...)
{
	va_list		args;
	void	   *new_address;

	va_start(args, flags);
	new_address = va_arg(args, void *);
	va_end(args);
	if (FAILS(mremap))
	{
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return real_mremap(address, old_size, new_size, flags, new_address);
}

int
open(const char *path, int flags,...)
{
	va_list		args;
	int			mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	if (FAILS(open))
	{
		errno = EMFILE;
		return -1;
	}
	return real_open(path, flags, mode);
}

/* As Linux does it: the file is closed all the same. */
int
close(int file)
{
	bool		failing = FAILS(close);
	int			result = real_close(file);

	if (!failing)
		return result;
	errno = EIO;
	return -1;
}

ssize_t
pread(int file, void *buffer, size_t length, off_t offset)
{
	if (FAILS(pread))
	{
		errno = EIO;
		return -1;
	}
	if (FAILS(eof))
		return 0;
	if (length > 1 && FAILS(short))
		length = length / 2 + 1;
	return real_pread(file, buffer, length, offset);
}

DIR *
opendir(const char *path)
{
	if (FAILS(opendir))
	{
		errno = EACCES;
		return NULL;
	}
	return real_opendir(path);
}

struct dirent *
readdir(DIR *directory)
{
	if (FAILS(readdir))
	{
		errno = EIO;
		return NULL;
	}
	return real_readdir(directory);
}

int
closedir(DIR *directory)
{
	bool		failing = FAILS(closedir);
	int			result = real_closedir(directory);

	if (!failing)
		return result;
	errno = EBADF;
	return -1;
}

int
dlclose(void *handle)
{
	bool		failing;

	resolve();
	failing = FAILS(dlclose);
	return real_dlclose(handle) != 0 || failing ? -1 : 0;
}

void *
dlopen(const char *path, int flags)
{
	resolve();
	if (FAILS(dlopen))
		path = "/nonexistent/on purpose";
	return real_dlopen(path, flags);
}

void *
dlsym(void *handle, const char *name)
{
	resolve();
	if (FAILS(dlsym))
		name = "nonexistent on purpose";
	return real_dlsym(handle, name);
}

int
dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
	if (FAILS(dladdr1))
		return 0;
	return real_dladdr1(address, info, extra, flags);
}

int
dl_iterate_phdr(int (*callback) (struct dl_phdr_info *, size_t, void *), void *context)
{
	if (FAILS(dl_iterate_phdr))
		return 0;
	return real_dl_iterate_phdr(callback, context);
}

int
sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	if (FAILS(sigprocmask))
	{
		errno = EINVAL;
		return -1;
	}
	return real_sigprocmask(how, set, old);
}

int
prctl(int option,...)
{
	va_list		args;
	unsigned long arg[4];

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (FAILS(prctl))
	{
		errno = EINVAL;
		return -1;
	}
	if (option == PR_GET_MDWE && FAILS(mdwe))
		return PR_MDWE_REFUSE_EXEC_GAIN;
	return real_prctl(option, arg[0], arg[1], arg[2], arg[3]);
}

/* Called before anything is resolved, too. */
void *
malloc(size_t size)
{
	if (size >= LARGE_MALLOC && faults[FAULT_malloc].fail_at != 0 && FAILS(malloc))
		return NULL;
	return __libc_malloc(size);
}

static bool
install_filter(struct sock_filter *filter, unsigned short length)
{
	struct sock_fprog program = {length, filter};

	return real_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		real_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/*
 * As systemd's MemoryDenyWriteExecute= had it before there was PR_SET_MDWE.
 */
static bool
forbid_by_seccomp(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 6),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

/*
 * One system call; if one of its arguments is given, only where that has any of
 * the bits.
 */
static bool
forbid_call(int call, int argument, uint32_t bits, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				 argument < 0 ? offsetof(struct seccomp_data, nr) : offsetof(struct seccomp_data, args[argument])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, argument < 0 ? (uint32_t) call : bits, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(filter, sizeof(filter) / sizeof(filter[0]));
}

static void
restrict_process(const char *by)
{
	bool		done;

	if (strcmp(by, "mdwe") == 0)
		done = real_prctl(PR_GET_MDWE, 0, 0, 0, 0) > 0 ||
			real_prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0;
	else if (strcmp(by, "seccomp-mprotect") == 0)
		done = forbid_call(SYS_mprotect, 2, PROT_EXEC, EACCES);
	else if (strcmp(by, "seccomp-mremap") == 0)
		done = forbid_call(SYS_mremap, -1, 0, EPERM);
	else
		done = forbid_by_seccomp();
	if (!done)
	{
		perror(by);
		_exit(77);				/* the kernel has not got it */
	}
}

static void
choose(const char *spec)
{
	char		copy[256];
	char	   *rest = copy;
	char	   *one;

	snprintf(copy, sizeof(copy), "%s", spec);
	while ((one = strsep(&rest, ",")) != NULL)
	{
		char	   *number = strchr(one, ':');
		char	   *end;
		bool		known = false;

		if (number == NULL)
			abort();
		*number++ = '\0';
		for (int i = 0; i < NFUNCTIONS; i++)
		{
			if (strcmp(one, names[i]) == 0)
			{
				faults[i].fail_at = strtol(number, &end, 10);
				faults[i].and_after = *end == '+';
				known = true;
			}
		}
		if (!known)
			abort();
	}
}

__attribute__((constructor))
static void
start(void)
{
	const char *spec = getenv("LWTUNE_FAULT");
	const char *by = getenv("LWTUNE_FAULT_PROCESS");

	resolve();
	if (by != NULL)
		restrict_process(by);
	if (spec != NULL)
		choose(spec);
}
