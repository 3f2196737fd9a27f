// A library that breaks the n-th call of a program that it is loaded into (LD_PRELOAD): for tests of
// what is left behind when a disk is full, a file is denied or the program is killed.
//
// Calls are caught by the kernel (seccomp) and not by name, because not all of them go through libc.
// The kernel hands each to a signal handler, which makes it, refuses it or ends the program.
//
// FAULT is KIND:N:ACTION, KIND being what is counted:
//   change  whatever changes a file or a folder: making, writing, syncing, naming, removing
//   read    opening a file of the working folder and reading of it
//   print   writing to standard output
// and ACTION what becomes of the N-th: `none`, an error (`ENOSPC`), an error from there on (`ENOSPC+`),
// `short` (half of it is written, and then the disk is full), `cut` (half of the file is cut off before
// it is read), or a signal that is sent (`KILL`, `INT`, `TERM`), after which the call is made. Removing
// takes no room, and a full disk does not keep anybody from it.
// FAULT_LOG is a file to which every call that is counted is appended: its number and what it is.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

// The one place from which calls are not caught.
long faults_call(long number, long a, long b, long c, long d, long e, long f);
extern const char faults_called[];
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
__asm__(".globl faults_call, faults_called\nfaults_call:\n"
        "mov %rdi,%rax\nmov %rsi,%rdi\nmov %rdx,%rsi\nmov %rcx,%rdx\nmov %r8,%r10\nmov %r9,%r8\n"
        "mov 8(%rsp),%r9\nsyscall\nfaults_called:\nret\n");
#define ARGUMENT(u, k) ((long)(u)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9}[k]])
#define ANSWER(u) (u)->uc_mcontext.gregs[REG_RAX]
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
__asm__(".globl faults_call, faults_called\nfaults_call:\n"
        "mov x8,x0\nmov x0,x1\nmov x1,x2\nmov x2,x3\nmov x3,x4\nmov x4,x5\nmov x5,x6\n"
        "svc #0\nfaults_called:\nret\n");
#define ARGUMENT(u, k) ((long)(u)->uc_mcontext.regs[k])
#define ANSWER(u) (u)->uc_mcontext.regs[0]
#else
#error "this library knows x86-64 and aarch64"
#endif

static const int CAUGHT[] = {
    SYS_openat, SYS_write, SYS_writev, SYS_pwrite64, SYS_read, SYS_readv, SYS_pread64, SYS_fsync, SYS_fdatasync,
    SYS_ftruncate, SYS_fallocate, SYS_linkat, SYS_renameat2, SYS_unlinkat, SYS_mkdirat, SYS_copy_file_range, SYS_sendfile,
    SYS_fchmod, SYS_fchmodat, SYS_symlinkat,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_open
    SYS_open, SYS_creat, SYS_rename, SYS_link, SYS_unlink, SYS_mkdir, SYS_rmdir, SYS_chmod, SYS_symlink,
#endif
};

static char kind[16], action[16], here[PATH_MAX];
static long wanted, counted, told = -1;
static int full;

static long now(long number, long a, long b, long c, long d, long e) {
    return faults_call(number, a, b, c, d, e, 0);
}

// What a descriptor is open to.
static const char *opened(long fd, char *name) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
    long length = now(SYS_readlinkat, AT_FDCWD, (long)link, (long)name, PATH_MAX - 1, 0);
    name[length < 0 ? 0 : length] = 0;
    return name;
}

static int regular(long fd) {
    struct stat found;
    return now(SYS_fstat, fd, (long)&found, 0, 0, 0) == 0 && S_ISREG(found.st_mode);
}

static int ours(const char *path) {
    return path[0] != '/' || strncmp(path, here, strlen(here)) == 0;
}

// What a call is to be counted as, its name and the file; NULL if it is none of what is counted.
static const char *sort_of(long number, const ucontext_t *u, const char **what, char *file) {
    long first = ARGUMENT(u, 0), flags = 0;
    const char *path = NULL;
    file[0] = 0;
    switch (number) {
    case SYS_openat: path = (const char *)ARGUMENT(u, 1); flags = ARGUMENT(u, 2); break;
#ifdef SYS_open
    case SYS_open: path = (const char *)first; flags = ARGUMENT(u, 1); break;
    case SYS_creat: path = (const char *)first; flags = O_CREAT | O_WRONLY; break;
#endif
    }
    if (path) {
        snprintf(file, PATH_MAX, "%s", path);
        *what = (flags & O_TMPFILE) == O_TMPFILE ? "make nameless" : flags & O_CREAT ? "make" : "open";
        if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return NULL;
        if ((flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT) return "change";
        return ours(path) && !(flags & O_DIRECTORY) ? "read" : NULL;
    }
    switch (number) {
    case SYS_write: case SYS_writev: case SYS_pwrite64: case SYS_copy_file_range: case SYS_sendfile:
        *what = "write";
        if (number == SYS_copy_file_range) first = ARGUMENT(u, 2);
        if (first == 1) return "print";
        if (!regular(first)) return NULL;
        opened(first, file);
        return "change";
    case SYS_read: case SYS_readv: case SYS_pread64:
        *what = "read";
        return regular(first) && ours(opened(first, file)) ? "read" : NULL;
    case SYS_fsync: case SYS_fdatasync: *what = "sync"; opened(first, file); return "change";
    case SYS_ftruncate: case SYS_fallocate: *what = "size"; opened(first, file); return "change";
    case SYS_fchmod: *what = "permit"; opened(first, file); return "change";
    case SYS_linkat: *what = "name"; path = (const char *)ARGUMENT(u, 3); break;
    case SYS_renameat2: *what = "move"; path = (const char *)ARGUMENT(u, 3); break;
    case SYS_unlinkat: *what = "remove"; path = (const char *)ARGUMENT(u, 1); break;
    case SYS_mkdirat: *what = "make folder"; path = (const char *)ARGUMENT(u, 1); break;
    case SYS_fchmodat: *what = "permit"; path = (const char *)ARGUMENT(u, 1); break;
    case SYS_symlinkat: *what = "name"; path = (const char *)ARGUMENT(u, 2); break;
#ifdef SYS_renameat
    case SYS_renameat: *what = "move"; path = (const char *)ARGUMENT(u, 3); break;
#endif
#ifdef SYS_open
    case SYS_rename: *what = "move"; path = (const char *)ARGUMENT(u, 1); break;
    case SYS_link: case SYS_symlink: *what = "name"; path = (const char *)ARGUMENT(u, 1); break;
    case SYS_unlink: case SYS_rmdir: *what = "remove"; path = (const char *)first; break;
    case SYS_mkdir: *what = "make folder"; path = (const char *)first; break;
    case SYS_chmod: *what = "permit"; path = (const char *)first; break;
#endif
    }
    if (!path) return NULL;
    snprintf(file, PATH_MAX, "%s", path);
    return "change";
}

static long error_of(const char *name) {
    const struct { const char *name; long number; } known[] = {
        {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EACCES", EACCES}, {"EROFS", EROFS}, {"EDQUOT", EDQUOT},
        {"EPERM", EPERM}, {"EINTR", EINTR}, {"EPIPE", EPIPE}, {"EMFILE", EMFILE}, {"EOPNOTSUPP", EOPNOTSUPP}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strncmp(name, known[k].name, strlen(known[k].name)) == 0) return known[k].number;
    return 0;
}

static void caught(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *u = context;
    const int before = errno;
    const long number = info->si_syscall;
    long arguments[6];
    for (int k = 0; k < 6; k++) arguments[k] = ARGUMENT(u, k);
    const char *what = "";
    char file[PATH_MAX];
    const char *sort = sort_of(number, u, &what, file);
    int hit = 0, from_there = 0;
    if (sort && strcmp(sort, kind) == 0) {
        const long own = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
        hit = own == wanted;
        from_there = own > wanted && (action[strlen(action) - 1] == '+' || full);
        if (told >= 0) {
            char line[PATH_MAX + 64];
            const int length = snprintf(line, sizeof line, "%ld %s %s\n", own, what, file);
            now(SYS_write, told, (long)line, length, 0, 0);
        }
    }
    long answer = 0;
    const long error = error_of(action);
    const int passes = error == ENOSPC && strcmp(what, "remove") == 0;
    if ((hit || from_there) && error && !passes) {
        answer = -error;
    } else if (from_there && full && strcmp(what, "remove") != 0) {
        answer = -ENOSPC;
    } else {
        if (hit && strcmp(action, "short") == 0) {
            full = 1;
            if (number == SYS_write || number == SYS_pwrite64) arguments[2] /= 2;
        }
        struct stat found;
        if (hit && strcmp(action, "cut") == 0 && now(SYS_newfstatat, AT_FDCWD, (long)file, (long)&found, 0, 0) == 0)
            now(SYS_truncate, (long)file, found.st_size / 2, 0, 0, 0);
        const int sent = !hit                          ? 0
                         : strcmp(action, "KILL") == 0 ? SIGKILL
                         : strcmp(action, "INT") == 0  ? SIGINT
                         : strcmp(action, "TERM") == 0 ? SIGTERM
                                                       : 0;
        if (sent) now(SYS_kill, now(SYS_getpid, 0, 0, 0, 0, 0), sent, 0, 0, 0);
        answer = faults_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    }
    ANSWER(u) = answer;
    errno = before;
}

static void give_up(const char *why) {
    dprintf(2, "faults: %s: %s\n", why, strerror(errno));
    _exit(99);
}

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("FAULT"), *log = getenv("FAULT_LOG");
    if (!fault) return;
    if (sscanf(fault, "%15[a-z]:%ld:%15s", kind, &wanted, action) != 3) give_up(fault);
    if (!getcwd(here, sizeof here)) give_up("getcwd");
    if (log) {
        const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        // Out of the way of the program's own.
        if (fd < 0 || (told = fcntl(fd, F_DUPFD_CLOEXEC, 900)) < 0) give_up(log);
        close(fd);
    }
    struct sigaction on = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSYS, &on, NULL) != 0) give_up("sigaction");
    enum { COUNT = sizeof CAUGHT / sizeof *CAUGHT, SIZE = 8 + 2 * COUNT + 1 };
    struct sock_filter program[SIZE];
    const unsigned long from = (unsigned long)faults_called;
    int at = 0;
#define LOAD(field) (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
#define EQUAL(value, yes, no) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
    program[at++] = LOAD(arch);
    program[at++] = EQUAL(ARCH, 0, 4);
    program[at++] = LOAD(instruction_pointer);
    program[at++] = EQUAL((unsigned)from, 0, 3);
    program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4);
    program[at++] = EQUAL((unsigned)(from >> 32), 0, 1);
    program[at++] = RETURN(SECCOMP_RET_ALLOW);
    program[at++] = LOAD(nr);
    for (int k = 0; k < COUNT; k++) {
        program[at++] = EQUAL((unsigned)CAUGHT[k], 0, 1);
        program[at++] = RETURN(SECCOMP_RET_TRAP);
    }
    program[at++] = RETURN(SECCOMP_RET_ALLOW);
    struct sock_fprog whole = {.len = at, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("no new privileges");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) != 0) give_up("seccomp");
}
