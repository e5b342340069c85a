#include "logformat/loss.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "logformat/discard_errors.h"

namespace countrace::logformat {
namespace {

// One kind of loss. `cause`: of the NotRecorded that are counted there.
struct LossKind {
  const char* name;
  std::uint64_t Loss::*number;
  const char* cause;
  bool is_loss;
  const char *one, *many;  // behind the number; null: `one` is all
};

constexpr LossKind kKinds[] = {
    {"discarded_events", &Loss::discarded_events, nullptr, true,
     " event record was lost", " event records were lost"},
    {"overwritten", &Loss::overwritten, nullptr, false,
     " older event record was overwritten",
     " older event records were overwritten"},
    {"discarded_packets", &Loss::discarded_packets, nullptr, true,
     " packet was lost", " packets were lost"},
    {"clock_errors", &Loss::clock_errors, nullptr, true,
     " record's time went back", " records' times went back"},
    {"not_joined", &Loss::not_joined, kNotJoined, true,
     " process with hooks did not join", " processes with hooks did not join"},
    {"lost_samples", &Loss::lost_samples, kLostSamples, true,
     " sample was lost", " samples were lost"},
    {"unavailable", &Loss::unavailable, kUnavailable, true,
     " request was not recorded", " requests were not recorded"},
    {"went_on", &Loss::went_on, kWentOn, true,
     " process of the command goes on, unrecorded",
     " processes of the command go on, unrecorded"},
    {"left_out_ms", &Loss::left_out_ms, kLeftOut, false,
     " ms without all calls or samples, for --max-cpu",
     " ms without all calls or samples, for --max-cpu"},
    {"cut_texts", &Loss::cut_texts, kCutTexts, true, " long text was cut",
     " long texts were cut"},
    {"damaged", &Loss::damaged, nullptr, true, "the trace is incomplete",
     nullptr},
    {"unfinished", &Loss::unfinished, nullptr, false,
     "the recording is not finished", nullptr}};

// " (no_sub_buffer 5, kernel_ring_full 7)".
std::string Causes(const Loss& loss) {
  std::string causes;
  for (auto [cause, records] : loss.by_cause) {
    if (cause == kDiscardCauseNames[static_cast<std::size_t>(
                     DiscardCause::kTraceFull)]) {
      records -= std::min(records, loss.overwritten);
    }
    if (records == 0) continue;
    causes += (causes.empty() ? " (" : ", ") + base::EscapeName(cause) + " " +
              base::FormatCount(records);
  }
  return causes.empty() ? causes : causes + ")";
}

std::string ErrnoText(std::uint32_t error) {
  if (error == 0) return "";
  return absl::StrFormat(" (%s)", strerror(static_cast<int>(error)));
}

}  // namespace

std::string LossRemedy(DiscardCause cause, std::uint32_t session_errno) {
  switch (cause) {
    case DiscardCause::kNoSubBuffer:
      return "no sub-buffer was ready: raise --sub-buffers, or switch off hot "
             "hooks";
    case DiscardCause::kTraceFull:
      return "the limit of size or age was reached (a flight recording "
             "overwrites its oldest): raise it, or record in stream mode";
    case DiscardCause::kDiskFull:
      return absl::StrFormat(
          "the disk took no more%s: free space, or record to another disk with "
          "-o",
          ErrnoText(session_errno));
    case DiscardCause::kNoResource:
      if (session_errno == EFBIG) {
        return "a stream file reached the limit of file sizes: raise ulimit "
               "-f, or the program's RLIMIT_FSIZE";
      }
      if (session_errno == kNoCallsAllowed) {
        return "threads under a seccomp filter or in its strict mode: no other "
               "thread could make their system calls";
      }
      if (session_errno == kSharesThreadStorage) {
        return "tasks that clone(CLONE_VM) made with the thread-local storage "
               "of a thread: their hooks are not recorded";
      }
      if (session_errno == kNoStreamLeft) {
        return "threads and forked children that started after their program "
               "had given up access to the trace (another user, root or "
               "mounts): "
               "it had kept 64 streams for them";
      }
      if (session_errno == kRegistryIsLocked) {
        return "programs whose hooks stayed off: another process held the lock "
               "on .hooks when they started";
      }
      if (session_errno == ENOENT) {
        return "the trace's directory was renamed or removed while it was "
               "recorded: rename it afterwards";
      }
      if (session_errno == kHookRefused) {
        return "hooks that the recording refused, for their name, number or "
               "version, as their program's stderr says";
      }
      return absl::StrFormat(
          "a stream file could not be opened or mapped%s: raise ulimit -n, or "
          "free memory",
          ErrnoText(session_errno));
    case DiscardCause::kUncommitted:
      return "a thread was killed mid-record: no action needed";
    case DiscardCause::kKernelRingFull:
      return "the kernel's ring was full: raise --kernel-ring";
  }
  return "cause unknown";
}

void Loss::AddDiscarded(const std::string& cause, std::uint64_t records) {
  if (records == 0) return;
  discarded_events += records;
  by_cause[cause] += records;
}

void Loss::AddDiscarded(
    const std::array<std::uint64_t, kDiscardCauses>& records) {
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    AddDiscarded(kDiscardCauseNames[i], records[i]);
  }
}

void Loss::Add(const StreamInfo& stream) {
  AddDiscarded(stream.discarded);
  overwritten += stream.overwritten;
  discarded_packets += stream.lost_packets;
}

void Loss::Add(const NotRecorded& what) {
  for (const LossKind& kind : kKinds) {
    if (kind.cause == nullptr || what.cause != kind.cause) continue;
    this->*kind.number += what.count;
    return;
  }
  AddDiscarded(what.cause, what.count);
}

NotRecorded Unavailable(std::string text, std::uint64_t requests) {
  return {kUnavailable, requests, std::move(text)};
}

NotRecorded AfterRecorderDied() {
  return Unavailable(
      "the recorder ended, or the trace was copied, before the end of the "
      "recording: what came after that is not in the trace");
}

std::vector<NotRecorded> NotRecordedOf(const TraceInfo& info) {
  std::vector<NotRecorded> all = info.not_recorded;
  if (!info.finished && !info.recording) all.push_back(AfterRecorderDied());
  return all;
}

LossStatement StateLoss(const Loss& loss) {
  LossStatement out;
  for (const LossKind& kind : kKinds) {
    std::uint64_t number = loss.*kind.number;
    out.numbers.emplace_back(kind.name, number);
    const bool of_records = kind.number == &Loss::discarded_events;
    // They are named behind, as what they are.
    if (of_records) number -= std::min(number, loss.overwritten);
    if (number == 0) continue;
    out.is_loss = out.is_loss || kind.is_loss;
    if (!out.complete) out.text += ", ";
    if (kind.many != nullptr) out.text += base::FormatCount(number);
    out.text += number == 1 || kind.many == nullptr ? kind.one : kind.many;
    if (of_records) out.text += Causes(loss);
    out.complete = false;
  }
  if (out.complete) out.text = "nothing was lost";
  return out;
}

}  // namespace countrace::logformat
