// The control page: requests to a running process with hooks to join a
// recording or to switch its hooks.
//
// A small file that the process creates at its start, maps shared and leaves in
// one of kControlFolders (no descriptor stays open). A controller finds it in
// /proc/PID/maps, which the kernel shows to the same user and to root only; the
// file has mode 0600. One controller at a time locks it with flock(LOCK_EX). It
// writes a request, increments `request`, wakes it, and waits until `reply` is
// equal to it. A process that ends or execs removes the file; if it is killed,
// the next `record`, `hooks` or `doctor` in its pid namespace removes it.
//
// Plain data only: compiled into the runtime library.
#ifndef COUNTRACE_RUNTIME_CONTROL_LAYOUT_H_
#define COUNTRACE_RUNTIME_CONTROL_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace countrace::runtime {

// The first writable one is used. Name: prefix, then the pid.
inline constexpr const char* kControlFolders[] = {"/dev/shm", "/tmp"};
inline constexpr char kControlPrefix[] = "countrace-control-";

inline constexpr std::uint64_t kControlMagic =
    0x32306c7463437463;  // "ctCctl02"
inline constexpr std::size_t kControlPageBytes = 16384;
inline constexpr std::size_t kControlPathBytes = 4096;
// A glob on "provider:name", with its NUL.
inline constexpr std::size_t kControlGlobBytes = 256;

enum class ControlCommand : std::uint32_t {
  kJoin = 1,     // argument: trace directory, absolute
  kList = 2,     // from_site: first requested site
  kEnable = 3,   // argument: glob
  kDisable = 4,  // argument: glob
};

enum class ControlStatus : std::uint32_t {
  kOk = 0,
  kOtherRecording = 1,   // takes part in `session`
  kStillLeaving = 2,     // a thread is in the middle of a hook of the last one
  kCannotOpen = 3,       // `.session` of the directory: `error`
  kNotRecording = 4,     // no session of this version, or it has ended
  kNoMatch = 5,          // no hook matches the glob
  kTooManySwitches = 6,  // no room to store one more glob
  kUnknownCommand = 7,
};

inline constexpr std::uint32_t kRequestNumberMask = 0x7fffffff;

// One line of a list: SITE-ADDRESS \t ID \t PROVIDER:NAME \t FILE:LINE \t KIND
// \t on|off \n; ID is `-` outside of a recording unless the program chose it.
// A site may be listed more than once.
struct ControlPage {
  std::uint64_t magic;  // kControlMagic
  std::uint32_t bytes;  // sizeof(ControlPage)
  std::int32_t pid;     // of the process that answers; a fork inherits the page
  // In which `pid` is a number: the inode of /proc/PID/ns/pid. 0: not known.
  std::uint64_t pid_namespace;
  // Futex: the control thread waits on it. The process flips bit 31 to wake its
  // own thread.
  std::atomic<std::uint32_t> request;
  std::atomic<std::uint32_t> reply;  // futex: the controller waits on it
  // Written by the controller before `request`.
  ControlCommand command;
  std::uint32_t from_site;
  char argument[kControlPathBytes];
  // Written by the process before `reply`.
  ControlStatus status;
  std::uint32_t error;      // errno behind the status, 0 = none
  std::uint32_t next_site;  // of a list: where it continues, 0 = complete
  std::uint32_t text_bytes;
  char session[kControlPathBytes];  // takes part in this recording; "" = none
  char text[kControlPageBytes - 56 - 2 * kControlPathBytes];
};
static_assert(sizeof(ControlPage) == kControlPageBytes);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_CONTROL_LAYOUT_H_
