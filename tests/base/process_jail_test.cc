// What a program can still do in its jail, that of imports (one folder) or that
// of names of code (no file): each attempt runs in a process of its own that
// entered it.
#include "base/jail/process_jail.h"

#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/posix/temporary_directory.h"

namespace countrace::base {
namespace {

constexpr uid_t kOtherUid = 65533;
constexpr std::uint64_t kFileBytes = 1 << 20;

enum class Files { kTrace, kNone };
enum class Start { kRoot, kUser, kRootWithoutLandlock, kUserWithoutLandlock };

// A kernel without Landlock does not know the call.
void HideLandlock() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0);
  if (seccomp_load(filter) != 0) _exit(99);
  seccomp_release(filter);
}

class JailTest {
 public:
  explicit JailTest(Start start, Files files = Files::kTrace)
      : start_(start), files_(files) {
    auto made = TemporaryDirectory::Create();
    REQUIRE(made.ok());
    directory_ = *std::move(made);
    const std::string& path = directory_->path();
    REQUIRE(chmod(path.c_str(), 0755) == 0);
    REQUIRE(mkdir((path + "/trace").c_str(), 0755) == 0);
    std::ofstream(path + "/trace/stream") << "trace";
    std::ofstream(path + "/other") << "other";
    std::ofstream(path + "/large") << "";
    REQUIRE(chmod((path + "/large").c_str(), 0666) == 0);
  }

  std::string Path(const std::string& name) const {
    return directory_->path() + "/" + name;
  }
  // Makes the trace, and a file beside it, readable by root alone.
  void OnlyRoot() {
    REQUIRE(chmod(Path("trace").c_str(), 0700) == 0);
    REQUIRE(chmod(Path("trace/stream").c_str(), 0600) == 0);
    REQUIRE(chmod(Path("other").c_str(), 0600) == 0);
  }

  // The wait status of a process in the jail that ran `attempt`, whose result
  // is its exit status.
  int Status(const std::function<int()>& attempt) {
    const pid_t child = fork();
    if (child == 0) {
      Enter();
      _exit(attempt());
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
  }
  // 0: it succeeded; else its errno.
  int Error(const std::function<bool()>& attempt) {
    const int status = Status([&] { return attempt() ? 0 : errno; });
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
  int OpenError(const std::string& path, int flags) {
    return Error([&] { return open(path.c_str(), flags, 0600) >= 0; });
  }
  // Lines of /proc/PID/status of a process in the jail, by name.
  std::map<std::string, std::string> ProcessStatus() {
    int ready[2], go[2];
    REQUIRE(pipe(ready) == 0);
    REQUIRE(pipe(go) == 0);
    const pid_t child = fork();
    char byte = 0;
    if (child == 0) {
      Enter();
      _exit(write(ready[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    REQUIRE(read(ready[0], &byte, 1) == 1);
    std::ifstream file("/proc/" + std::to_string(child) + "/status");
    std::map<std::string, std::string> lines;
    for (std::string line; std::getline(file, line);) {
      const std::size_t colon = line.find(":\t");
      if (colon == line.npos) continue;
      lines[line.substr(0, colon)] = line.substr(colon + 2);
    }
    REQUIRE(write(go[1], "x", 1) == 1);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    for (const int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
    return lines;
  }
  // What Enter() says is missing.
  std::string Missing() {
    int said[2];
    REQUIRE(pipe(said) == 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string text;
      for (const std::string& one : Enter()) text += one + "\n";
      _exit(write(said[1], text.data(), text.size()) >= 0 ? 0 : 1);
    }
    close(said[1]);
    std::string text(4096, '\0');
    const ssize_t got = read(said[0], text.data(), text.size());
    close(said[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(got >= 0);
    text.resize(static_cast<std::size_t>(got));
    return text;
  }

 private:
  std::vector<std::string> Enter() {
    if (start_ == Start::kUser || start_ == Start::kUserWithoutLandlock) {
      // Fails for a user, who is one already.
      if (getuid() == 0 && (setgroups(0, nullptr) != 0 ||
                            setresgid(kOtherUid, kOtherUid, kOtherUid) != 0 ||
                            setresuid(kOtherUid, kOtherUid, kOtherUid) != 0)) {
        _exit(98);
      }
    }
    if (start_ == Start::kRootWithoutLandlock ||
        start_ == Start::kUserWithoutLandlock) {
      HideLandlock();
    }
    if (files_ == Files::kNone) {
      return EnterJail(
          {.readable = {}, .file_bytes = 0, .sets_memory_limit = true});
    }
    return EnterJail({.readable = {Path("trace")}, .file_bytes = kFileBytes});
  }

  const Start start_;
  const Files files_;
  std::unique_ptr<TemporaryDirectory> directory_;
};

bool HasLandlock() { return syscall(444, nullptr, 0, 1) > 0; }

bool Skips(Start start) {
  const bool root =
      start == Start::kRoot || start == Start::kRootWithoutLandlock;
  if (!root || getuid() == 0) return false;
  std::cout << "SKIPPED: jails of root need root\n";
  return true;
}

Start EachStart() {
  return GENERATE(Start::kRoot, Start::kUser, Start::kRootWithoutLandlock,
                  Start::kUserWithoutLandlock);
}

}  // namespace

TEST_CASE("process jail: no process, socket, code or other process",
          "[base][process_jail]") {
  const auto start = EachStart();
  CAPTURE(static_cast<int>(start));
  if (Skips(start)) return;
  const auto files = GENERATE(Files::kTrace, Files::kNone);
  CAPTURE(static_cast<int>(files));
  JailTest jail(start, files);
  const pid_t parent = getpid();
  const std::map<std::string, std::function<bool()>> attempts = {
      {"inet socket", [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
      {"unix socket", [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
      {"netlink", [] { return socket(AF_NETLINK, SOCK_RAW, 0) >= 0; }},
      {"exec",
       [] {
         char name[] = "/bin/true";
         char* const words[] = {name, nullptr};
         return execv(name, words) == 0;
       }},
      {"fork", [] { return fork() >= 0; }},
      {"clone3", [] { return syscall(SYS_clone3, nullptr, 0) >= 0; }},
      {"ptrace",
       [=] { return ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) == 0; }},
      {"read memory",
       [=] {
         char byte = 0;
         const iovec here{&byte, 1}, there{&byte, 1};
         return syscall(SYS_process_vm_readv, parent, &here, 1, &there, 1, 0) >
                0;
       }},
      {"kill", [=] { return kill(parent, SIGCONT) == 0; }},
      {"tgkill",
       [=] { return syscall(SYS_tgkill, parent, parent, SIGCONT) == 0; }},
      {"pidfd", [=] { return syscall(SYS_pidfd_open, parent, 0) >= 0; }},
      {"mount", [] { return mount("x", "/mnt", "tmpfs", 0, nullptr) == 0; }},
      {"unshare", [] { return syscall(SYS_unshare, 0x10000000) == 0; }},
      {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0) >= 0; }},
      {"perf", [] { return syscall(SYS_perf_event_open, nullptr, 0) >= 0; }},
      {"keys", [] { return syscall(SYS_keyctl, 0, -3, 1) >= 0; }},
      {"io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr) >= 0; }},
      {"file handle",
       [] { return syscall(SYS_open_by_handle_at, 0, nullptr, 0) >= 0; }},
      {"root again", [] { return setresuid(0, 0, 0) == 0; }},
      {"executable page",
       [] {
         return mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
       }},
      {"page made executable",
       [] {
         void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
       }},
      {"unlink", [&] { return unlink(jail.Path("large").c_str()) == 0; }},
      {"rename",
       [&] {
         return rename(jail.Path("large").c_str(), jail.Path("l").c_str()) == 0;
       }},
      {"limit raised",
       [] {
         const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
         return setrlimit(RLIMIT_FSIZE, &limit) == 0;
       }},
  };
  for (const auto& [name, attempt] : attempts) {
    CAPTURE(name);
    CHECK(jail.Error(attempt) == EPERM);
  }
}

TEST_CASE("process jail: files are those of the trace, and only read",
          "[base][process_jail]") {
  const auto start = EachStart();
  CAPTURE(static_cast<int>(start));
  if (Skips(start)) return;
  const bool hidden = start == Start::kRootWithoutLandlock ||
                      start == Start::kUserWithoutLandlock || !HasLandlock();
  JailTest jail(start);
  CHECK(jail.OpenError(jail.Path("trace/stream"), O_RDONLY) == 0);
  CHECK(jail.OpenError("/etc/shadow", O_RDONLY) != 0);
  CHECK((jail.OpenError(jail.Path("other"), O_RDONLY) == 0) == hidden);
  CHECK(jail.OpenError(jail.Path("large"), O_WRONLY) != 0);
  CHECK(jail.OpenError(jail.Path("trace/stream"), O_RDWR) != 0);
  CHECK(jail.OpenError("/tmp/countrace-new", O_CREAT | O_RDONLY) != 0);
  CHECK(jail.OpenError("/tmp", O_TMPFILE | O_RDWR) != 0);
  const std::string missing = jail.Missing();
  CHECK((missing == "") == !hidden);
  if (hidden)
    CHECK(missing == "it can read other files of its user (no Landlock)\n");
}

TEST_CASE("process jail: without files none is opened, on any kernel",
          "[base][process_jail]") {
  const auto start = EachStart();
  CAPTURE(static_cast<int>(start));
  if (Skips(start)) return;
  JailTest jail(start, Files::kNone);
  for (const std::string& path :
       {jail.Path("trace/stream"), jail.Path("large"), std::string("/dev/null"),
        std::string("/proc/self/mem"), std::string("/")}) {
    CAPTURE(path);
    CHECK(jail.OpenError(path, O_RDONLY) == EPERM);
    CHECK(jail.OpenError(path, O_PATH) == EPERM);
  }
  CHECK(jail.Missing().empty());
}

TEST_CASE("process jail: the limit of memory moves below the first one",
          "[base][process_jail]") {
  JailTest jail(Start::kUser, Files::kNone);
  const auto set = [](rlim_t soft, rlim_t hard) {
    const rlimit limit{soft, hard};
    return setrlimit(RLIMIT_AS, &limit) == 0;
  };
  constexpr rlim_t kMost = rlim_t{4} << 30;
  const auto moved = [&] { return set(kMost / 2, kMost) && set(kMost, kMost); };
  CHECK(jail.Error(moved) == 0);
  CHECK(jail.Error([&] {
    return set(kMost, kMost) && set(2 * kMost, 2 * kMost);
  }) == EPERM);
}

TEST_CASE("process jail: a trace of root is read, and nothing else of root",
          "[base][process_jail]") {
  if (Skips(Start::kRoot)) return;
  {
    JailTest jail(Start::kRoot);
    jail.OnlyRoot();
    CHECK(jail.OpenError(jail.Path("trace/stream"), O_RDONLY) == 0);
    if (HasLandlock()) {
      CHECK(jail.OpenError(jail.Path("other"), O_RDONLY) == EACCES);
      CHECK(jail.OpenError("/etc/shadow", O_RDONLY) == EACCES);
      CHECK(jail.Missing().empty());
    }
    // CAP_DAC_READ_SEARCH alone.
    CHECK(jail.ProcessStatus()["CapEff"] == "0000000000000004");
  }
  // Without Landlock this is what it costs, and it is said.
  JailTest jail(Start::kRootWithoutLandlock);
  jail.OnlyRoot();
  CHECK(jail.OpenError(jail.Path("trace/stream"), O_RDONLY) == 0);
  CHECK(jail.Missing() ==
        "it can read every file (no Landlock, and the trace is not readable by "
        "all users)\n");
}

TEST_CASE("process jail: no user, group or capability",
          "[base][process_jail]") {
  const Start start = GENERATE(Start::kRoot, Start::kUser);
  if (Skips(start)) return;
  JailTest jail(start);
  auto status = jail.ProcessStatus();
  CHECK(status["CapEff"] == "0000000000000000");
  CHECK(status["CapPrm"] == "0000000000000000");
  CHECK(status["NoNewPrivs"] == "1");
  CHECK(status["Seccomp"] == "2");
  int uid = 0;
  std::istringstream(status["Uid"]) >> uid;
  CHECK(uid != 0);
  if (start == Start::kRoot) {
    CHECK(status["CapBnd"] == "0000000000000000");
    CHECK(status["Groups"].find_first_not_of(' ') == std::string::npos);
    CHECK(uid != static_cast<int>(kOtherUid));
  }
}

TEST_CASE("process jail: files have a largest size", "[base][process_jail]") {
  const Start start = GENERATE(Start::kRoot, Start::kUser);
  if (Skips(start)) return;
  JailTest jail(start);
  const int fd = open(jail.Path("large").c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const std::string block(kFileBytes / 2, 'x');
  const auto write_blocks = [&] {
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 3; ++i) {
      if (write(fd, block.data(), block.size()) < 0) return errno;
    }
    return 0;
  };
  const int status = jail.Status(write_blocks);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == EFBIG);
  struct stat file {};
  REQUIRE(fstat(fd, &file) == 0);
  CHECK(file.st_size == static_cast<off_t>(kFileBytes));
  close(fd);
}

TEST_CASE("process jail: the library can still abort", "[base][process_jail]") {
  JailTest jail(Start::kUser);
  const int status = jail.Status([]() -> int { std::abort(); });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}

}  // namespace countrace::base
