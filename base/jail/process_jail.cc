#include "base/jail/process_jail.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/posix/scoped_fd.h"

namespace countrace::base {

namespace fs = std::filesystem;

namespace {

// --- User and capabilities ---

// No user has these ids, so that no other process is within reach of a signal,
// and none can reach this one.
constexpr uid_t kFirstUid = 0x7e000000;
// In a user namespace that has no such ids.
constexpr uid_t kNobody = 65534;
constexpr std::size_t kMaxEntries = 100'000;

// Only these: permitted and effective.
bool SetCapabilities(std::uint64_t set) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i].permitted = static_cast<__u32>(set >> (32 * i));
    data[i].effective = data[i].permitted;
  }
  return syscall(SYS_capset, &head, data) == 0;
}

bool BecomeUser(uid_t uid) {
  return setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
         setresuid(uid, uid, uid) == 0;
}

// By the process's real user, who has no capability.
bool CanRead(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return false;
  std::error_code error;
  if (!fs::is_directory(path, error)) return !error;
  std::size_t entries = 0;
  fs::recursive_directory_iterator at(path, error);
  for (; !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    const bool directory = at->is_directory(error);
    if (++entries > kMaxEntries || error ||
        access(at->path().c_str(), directory ? R_OK | X_OK : R_OK) != 0) {
      return false;
    }
  }
  return !error;
}

bool CanReadAll(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), CanRead);
}

// Returns whether the process still reads any file, as a root without Landlock
// must for a trace that is root's.
bool DropUser(const Jail& jail, std::vector<std::string>& missing) {
  // The death of the parent is signalled again below: the change of user
  // cancels it.
  const pid_t parent = getppid();
  for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; ++i) {
    prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  bool any_file = false;
  if (geteuid() == 0 || getuid() == 0) {
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    const uid_t own = kFirstUid + static_cast<uid_t>(getpid());
    if (!BecomeUser(own) && !BecomeUser(kNobody)) {
      missing.emplace_back(
          "it keeps its user (setuid: " + std::string(strerror(errno)) + ")");
    }
    constexpr std::uint64_t kReadSearch = std::uint64_t{1}
                                          << CAP_DAC_READ_SEARCH;
    any_file = !CanReadAll(jail.readable) && SetCapabilities(kReadSearch);
  }
  if (!any_file && !SetCapabilities(0)) {
    missing.emplace_back("it keeps its capabilities (capset: " +
                         std::string(strerror(errno)) + ")");
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  return any_file;
}

// --- Files: Landlock ---

// linux/landlock.h of the kernel headers may be older than the kernel.
struct RulesetAttributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed;
  std::int32_t fd;
};
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint64_t kReadFile = 1 << 2, kReadDirectory = 1 << 3;

bool RestrictFiles(const std::vector<std::string>& readable) {
  const long version = syscall(kCreateRuleset, nullptr, 0, 1);
  if (version < 1) return false;
  RulesetAttributes all;
  all.files = (std::uint64_t{1} << 13) - 1;
  if (version >= 2) all.files |= 1 << 13;  // links between directories
  if (version >= 3) all.files |= 1 << 14;  // truncate
  if (version >= 5) all.files |= 1 << 15;  // ioctl of devices
  std::size_t size = sizeof(all.files);
  if (version >= 4) {
    all.network = 3;  // bind, connect
    size += sizeof(all.network);
  }
  if (version >= 6) {
    all.scoped = 3;  // abstract sockets, signals
    size += sizeof(all.scoped);
  }
  const ScopedFd rules(
      static_cast<int>(syscall(kCreateRuleset, &all, size, 0)));
  if (!rules.is_open()) return false;
  for (const std::string& path : readable) {
    const ScopedFd place(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    // What cannot be opened now need not be read later.
    if (!place.is_open() || fstat(place.get(), &status) != 0) continue;
    const PathRule rule{
        S_ISDIR(status.st_mode) ? kReadFile | kReadDirectory : kReadFile,
        place.get()};
    if (syscall(kAddRule, rules.get(), 1, &rule, 0) != 0) return false;
  }
  return syscall(kRestrictSelf, rules.get(), 0) == 0;
}

// --- System calls: seccomp ---

constexpr const char* kAllowed[] = {
    // Files: reading those that Landlock allows, writing open ones.
    "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64",
    "pwritev", "lseek", "_llseek", "close", "fstat", "fstat64", "newfstatat",
    "fstatat64", "stat", "stat64", "lstat", "lstat64", "statx", "fstatfs",
    "fstatfs64", "access", "faccessat", "faccessat2", "getdents", "getdents64",
    "readlink", "readlinkat", "getcwd", "fadvise64", "ftruncate", "ftruncate64",
    "fallocate", "fsync", "fdatasync", "flock", "fcntl", "fcntl64", "dup",
    "recvmsg", "sendmsg",
    // Memory.
    "munmap", "mremap", "madvise", "msync", "brk", "membarrier",
    // Time, signals, the process itself.
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_nanosleep",
    "nanosleep", "gettimeofday", "time", "futex", "futex_time64",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn",
    "sigaltstack", "restart_syscall", "getpid", "gettid", "getppid", "getuid",
    "geteuid", "getgid", "getegid", "getrandom", "getrusage", "getrlimit",
    "sched_yield", "sched_getaffinity", "getcpu", "sysinfo", "uname", "rseq",
    "set_robust_list", "poll", "ppoll", "exit", "exit_group"};

class Filter {
 public:
  // A system call that is not allowed fails, and does not end the process:
  // libraries go on without what they only try.
  Filter() : filter_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() {
    if (filter_ != nullptr) seccomp_release(filter_);
  }

  // Names of other architectures and of newer kernels are left out.
  void Allow(const char* name) { Add(name, {}); }
  void Allow(const char* name, const std::vector<scmp_arg_cmp>& arguments) {
    Add(name, arguments);
  }
  bool Load() {
    return filter_ != nullptr && good_ && seccomp_load(filter_) == 0;
  }

 private:
  void Add(const char* name, const std::vector<scmp_arg_cmp>& arguments) {
    const int number = seccomp_syscall_resolve_name(name);
    if (filter_ == nullptr || number < 0) return;
    good_ &= seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number,
                                    static_cast<unsigned>(arguments.size()),
                                    arguments.data()) == 0;
  }

  scmp_filter_ctx filter_;
  bool good_ = true;
};

scmp_arg_cmp Without(unsigned argument, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, 0};
}
scmp_arg_cmp Equals(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

bool RestrictCalls(const Jail& jail) {
  Filter filter;
  for (const char* name : kAllowed) filter.Allow(name);
  constexpr std::uint64_t kWriting =
      O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
  if (!jail.readable.empty()) {
    filter.Allow("open", {Without(1, kWriting)});
    filter.Allow("openat", {Without(2, kWriting)});
  }
  for (const char* name : {"mmap", "mmap2", "mprotect"}) {
    filter.Allow(name, {Without(2, PROT_EXEC)});
  }
  // abort() of the library.
  const auto self = static_cast<std::uint64_t>(getpid());
  filter.Allow("tgkill", {Equals(0, self)});
  // Reads limits only.
  filter.Allow("prlimit64", {Equals(0, 0), Equals(2, 0)});
  if (jail.sets_memory_limit) {
    filter.Allow("prlimit64", {Equals(0, 0), Equals(1, RLIMIT_AS)});
  }
  return filter.Load();
}

void Limit(__rlimit_resource resource, std::uint64_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  limit.rlim_max = limit.rlim_cur;
  setrlimit(resource, &limit);
}

}  // namespace

std::vector<std::string> EnterJail(const Jail& jail) {
  std::vector<std::string> missing;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  Limit(RLIMIT_FSIZE, jail.file_bytes);
  Limit(RLIMIT_NPROC, 0);
  // While the process may still open every path of it.
  const bool restricted = RestrictFiles(jail.readable);
  const bool any_file = DropUser(jail, missing);
  const bool calls_restricted = RestrictCalls(jail);
  if (!restricted && !(calls_restricted && jail.readable.empty())) {
    missing.emplace_back(any_file
                             ? "it can read every file (no Landlock, and the "
                               "trace is not readable by all users)"
                             : "it can read other files of its user (no "
                               "Landlock)");
  }
  if (!calls_restricted) {
    missing.emplace_back("it can make all system calls (no seccomp)");
  }
  return missing;
}

}  // namespace countrace::base
