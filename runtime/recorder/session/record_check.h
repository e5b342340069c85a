// Checks whether a recording's options are possible: contradictions, missing
// processes, events that a thread may not count.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_CHECK_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/kernel_recorder.h"
#include "runtime/recorder/request/record_options.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

// True if the trace would be empty without the kernel's side.
bool NeedsKernel(const RecordOptions& options);

// Returns: INVALID_ARGUMENT options that contradict each other or leave nothing
// to record; NOT_FOUND one of pids is no process.
absl::Status CheckOptions(const RecordOptions& options);

// The same check for the multiplexing of these choices' event sets.
absl::Status CheckRotation(const RecordOptions& options,
                           const EventChoice& events,
                           const EventChoice& hook_events);

// Refuses exec-runtime where it is not counted. `defaults`: no event was
// chosen.
absl::Status CheckExecRuntime(const RecordOptions& options, bool defaults,
                              const EventChoice& events,
                              const EventChoice& hook_events);

// Triggers on kernel hooks that these options do not record, for the case that
// no program has hooks of that name; one message each.
std::vector<std::string> TriggersOfMissingHooks(
    const RecordOptions& options, const std::vector<Trigger>& triggers);

// "process 7 (redis-server), 8 (nginx)", for the trace's description.
std::string NamesOf(const std::vector<std::int32_t>& pids);

// The hook events that a thread can open for itself, without their kernel part
// where only user counts are allowed. The others are added to `left_out`.
EventChoice KeepHookEvents(EventChoice choice,
                           std::vector<std::string>& messages,
                           std::vector<logformat::NotRecorded>& left_out);

// Looks up the requested kernel hooks on this machine. With `best_effort`,
// those that may not be looked up are left out and added to `left_out`.
// Returns: as AddKernelSegments() and AddDynamicHooks(); PERMISSION_DENIED
// names all that may not be.
absl::StatusOr<KernelHookRequest> KernelHooks(
    const RecordOptions& options, std::vector<std::string>& messages,
    std::vector<logformat::NotRecorded>& left_out);

// The error for requested kernel hooks that `status` of opening or beginning
// the kernel recorder makes impossible; OK if none were requested, or with
// `best_effort`.
absl::Status RefuseKernelHooks(const RecordOptions& options,
                               const absl::Status& status);

// The requests that `kernel`, null: none, did not record at all: kernel hooks,
// and `events`, those that the user named.
std::vector<logformat::NotRecorded> LeftOutBy(
    const KernelRecorder* kernel, const RecordOptions& options,
    const std::vector<std::string>& events);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_CHECK_H_
