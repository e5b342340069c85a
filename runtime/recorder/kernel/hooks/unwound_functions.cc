#include "runtime/recorder/kernel/hooks/unwound_functions.h"

#include <algorithm>
#include <span>

namespace countrace::runtime {
namespace {

// Not those on whose frames nothing can end an exception: thread starts,
// `main`'s.
constexpr std::string_view kCallingBack[] = {"qsort",
                                             "qsort_r",
                                             "bsearch",
                                             "lfind",
                                             "lsearch",
                                             "tsearch",
                                             "tfind",
                                             "tdelete",
                                             "twalk",
                                             "twalk_r",
                                             "tdestroy",
                                             "ftw",
                                             "ftw64",
                                             "nftw",
                                             "nftw64",
                                             "fts_open",
                                             "fts64_open",
                                             "fts_read",
                                             "fts64_read",
                                             "scandir",
                                             "scandir64",
                                             "scandirat",
                                             "scandirat64",
                                             "glob",
                                             "glob64",
                                             "argp_parse",
                                             "dl_iterate_phdr",
                                             "pthread_once",
                                             "call_once",
                                             "__pthread_once",
                                             "_dl_catch_exception",
                                             "_dl_catch_error"};

// As they are called without their variants (PlainName()).
constexpr std::string_view kEndingThread[] = {
    "accept", "accept4", "aio_suspend", "clock_nanosleep", "close", "cnd_wait",
    "cnd_timedwait", "connect", "copy_file_range", "creat", "epoll_pwait",
    "epoll_pwait2", "epoll_wait", "fallocate", "fcntl", "fdatasync", "fsync",
    "getrandom", "ioctl", "lockf", "mq_receive", "mq_send", "mq_timedreceive",
    "mq_timedsend", "msgrcv", "msgsnd", "msync", "nanosleep", "open", "openat",
    "open_by_handle_at", "pause", "poll", "posix_fallocate", "ppoll", "pread",
    "preadv", "preadv2", "pselect", "pthread_clockjoin_np",
    "pthread_cond_clockwait", "pthread_cond_timedwait", "pthread_cond_wait",
    "pthread_exit", "pthread_join", "pthread_testcancel",
    "pthread_timedjoin_np", "pwrite", "pwritev", "pwritev2", "read", "readv",
    "recv", "recvfrom", "recvmmsg", "recvmsg", "select", "sem_clockwait",
    "sem_timedwait", "sem_wait", "send", "sendmmsg", "sendmsg", "sendto",
    "sigpause", "sigsuspend", "sigtimedwait", "sigwait", "sigwaitinfo", "sleep",
    "splice", "sync_file_range", "system", "tcdrain", "tee", "thrd_exit",
    "thrd_join", "thrd_sleep", "usleep", "vmsplice", "wait", "wait3", "wait4",
    "waitid", "waitpid", "write", "writev",
    // May be cancellation points: input and output, and names.
    "dprintf", "fclose", "fflush", "fgetc", "fgets", "fgetwc", "fgetws",
    "flockfile", "fprintf", "fputc", "fputs", "fputwc", "fputws", "fread",
    "fscanf", "fwprintf", "fwrite", "fwscanf", "getaddrinfo", "getc", "getchar",
    "getdelim", "gethostbyaddr", "gethostbyaddr_r", "gethostbyname",
    "gethostbyname2", "gethostbyname2_r", "gethostbyname_r", "getline",
    "getnameinfo", "gets", "getwc", "getwchar", "pclose", "printf", "psignal",
    "putc", "putchar", "puts", "putw", "putwc", "putwchar", "scanf", "syslog",
    "ungetc", "vdprintf", "vfprintf", "vfscanf", "vfwprintf", "vfwscanf",
    "vprintf", "vscanf", "vsyslog", "vwprintf", "vwscanf", "wprintf", "wscanf"};

// "read" of "__read", "__libc_read" and "__read_chk"; "open" of "open64".
std::string_view PlainName(std::string_view symbol) {
  std::string_view name = symbol.substr(0, symbol.find('@'));
  while (name.starts_with('_')) name.remove_prefix(1);
  for (const std::string_view begin : {"libc_", "isoc99_", "isoc23_", "IO_"}) {
    if (!name.starts_with(begin)) continue;
    name.remove_prefix(begin.size());
    break;
  }
  for (const std::string_view end : {"_chk", "_2", "_time64", "64"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  return name;
}

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool CallsBack(std::string_view symbol) {
  symbol = symbol.substr(0, symbol.find('@'));
  return IsAmong(symbol, kCallingBack);
}

bool MayEndThread(std::string_view symbol) {
  return IsAmong(PlainName(symbol), kEndingThread);
}

}  // namespace countrace::runtime
