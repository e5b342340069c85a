// The session's hook registry, `.hooks` (logformat/session_layout.h). A hook
// has the same id in all processes of a recording.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_REGISTRY_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_REGISTRY_H_

#include <cstddef>
#include <cstdint>

#include "countrace/hook_site.h"
#include "logformat/packet_layout.h"

namespace countrace::runtime {

struct RegisteredHook {
  std::uint32_t id = 0;
};

// Holds the registry's lock (flock) for its lifetime. The first Register()
// opens the file. Async-signal-safe where all signals are blocked, except for
// its messages.
class HookRegistry {
 public:
  HookRegistry() noexcept = default;
  ~HookRegistry();
  HookRegistry(const HookRegistry&) = delete;
  HookRegistry& operator=(const HookRegistry&) = delete;

  // Finds or adds the hook of `site`: same kind, provider:name and payload
  // types = same id. An exit site takes the first segment with its name, or
  // adds one without payload. False, with a message on stderr: malformed
  // descriptor, explicit id of another hook, no id left, registry unreadable;
  // cause() is then that of the hook's records.
  bool Register(const countrace_hook_site& site, RegisteredHook* hook) noexcept;
  logformat::DiscardCause cause() const noexcept { return cause_; }
  // Adds the name of the calling process.
  void AddProcess(std::int32_t pid) noexcept;

 private:
  bool Open() noexcept;
  void Fail(logformat::DiscardCause cause, int error) noexcept;
  bool Append(const char* line, std::size_t bytes) noexcept;

  int fd_ = -1;
  logformat::DiscardCause cause_ = logformat::DiscardCause::kNoResource;
  bool failed_ = false;
  char* text_ = nullptr;  // whole lines read so far
  std::size_t text_bytes_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_REGISTRY_H_
