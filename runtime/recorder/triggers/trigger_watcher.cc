#include "runtime/recorder/triggers/trigger_watcher.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/trim.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_directory.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;
using logformat::StreamClass;

// Longest pass: the kernel's rings and a flight recording's space wait.
constexpr std::uint64_t kMostLookNs = 10'000'000;
constexpr std::size_t kSliceBytes = 1 << 20;
// Above this number of streams, their files are opened in each pass.
constexpr std::size_t kMostOpen = 256;

std::string Duration(std::uint64_t ns) {
  return base::FormatNanoseconds(static_cast<double>(ns));
}

// Start time of a thread on CLOCK_MONOTONIC (to 10 ms). Absent: it does not
// exist, or is a zombie.
std::optional<std::uint64_t> ThreadBeginNs(std::int32_t pid, std::int32_t tid) {
  const auto stat =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/task/%d/stat", pid, tid));
  if (!stat.ok()) return std::nullopt;
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  // Field 22; the first field after the name is the third.
  const std::vector<std::string> fields =
      absl::StrSplit(absl::string_view(*stat).substr(name_end + 2), ' ');
  std::uint64_t ticks = 0;
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X" ||
      !absl::SimpleAtoi(fields[19], &ticks)) {
    return std::nullopt;
  }
  const std::uint64_t asleep_ns = SuspendedNs();
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const std::uint64_t begin_ns = ticks * (1'000'000'000 / per_second);
  return begin_ns - std::min(begin_ns, asleep_ns);
}

// The PID of "thread-PID-N"; 0: another name.
std::int32_t PidOf(const std::string& stream) {
  const std::vector<std::string> parts = absl::StrSplit(stream, '-');
  std::int32_t pid = 0;
  if (parts.size() != 3 || parts[0] != "thread" ||
      !absl::SimpleAtoi(parts[1], &pid)) {
    return 0;
  }
  return pid;
}

bool WatchesRecords(const Trigger& trigger) {
  return trigger.kind == TriggerKind::kSegment ||
         trigger.kind == TriggerKind::kHook;
}

void Watch(std::uint32_t hook, WatchedStream& stream) {
  for (const std::uint32_t dump :
       {0u, std::uint32_t{logformat::kEventDumpBit}}) {
    stream.watched.set(hook * 2 | dump);
    stream.watched.set(hook * 2 | logformat::kEventExitBit | dump);
  }
}

}  // namespace

TriggerWatcher::TriggerWatcher(std::string trace, std::vector<Trigger> triggers,
                               std::uint64_t begin_ns,
                               std::function<void(const std::string&)> notice)
    : trace_(std::move(trace)),
      triggers_(std::move(triggers)),
      begin_ns_(begin_ns),
      notice_(std::move(notice)),
      hooks_(trace_),
      values_(triggers_),
      calls_(triggers_),
      schedule_(triggers_) {
  if (values_.any()) cpu_.values = thread_.values = &values_;
  thread_.dump_heads = true;
  bool segments = false;
  for (const Trigger& trigger : triggers_) {
    watches_records_ |= WatchesRecords(trigger);
    next_ns_.push_back(begin_ns_ + trigger.every_ns);
    segments |= trigger.kind == TriggerKind::kSegment;
  }
  if (!segments) return;
  cpu_.watched.set(static_cast<std::uint16_t>(CpuEvent::kExit));
  cpu_.watched.set(static_cast<std::uint16_t>(CpuEvent::kExec));
  cpu_.watched.set(static_cast<std::uint16_t>(CpuEvent::kCounters));
}

void TriggerWatcher::RefreshHooks() {
  const absl::Status status = hooks_.Refresh();
  if (!status.ok() && trouble_.empty()) trouble_ = base::StatusText(status);
  if (hooks_.generation() == generation_) return;
  generation_ = hooks_.generation();
  calls_.SetHooks(hooks_.hooks());
  values_.SetHooks(hooks_.info());
  cpu_.dump_heads = hooks_.info().cpu_sets().rotates();
  for (const logformat::HookInfo& hook : hooks_.hooks()) {
    if (!calls_.IsWatched(hook.id)) continue;
    names_.try_emplace(hook.id, hook.FullName());
    Watch(hook.id,
          hook.origin == logformat::HookOrigin::kProgram ? thread_ : cpu_);
  }
  cpu_.table = &hooks_.table(StreamClass::kCpu);
  thread_.table = &hooks_.table(StreamClass::kThread);
}

void TriggerWatcher::FindStreams() {
  struct stat info {};
  if (stat(trace_.c_str(), &info) != 0) return;
  const std::int64_t changed_ns =
      std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (changed_ns == directory_changed_ns_) return;
  const auto directory = logformat::ListTraceDirectory(trace_);
  if (!directory.ok()) {
    if (trouble_.empty()) trouble_ = base::StatusText(directory.status());
    return;
  }
  for (const logformat::StreamFile& file : directory->streams) {
    if (file.stream_class == StreamClass::kClock) continue;
    if (streams_.contains(file.name)) continue;
    streams_.emplace(file.name, Followed{StreamFollower(trace_, file), {}});
    const std::int32_t pid = PidOf(file.name);
    if (pid > 0 && IsProcessAlive(pid)) seen_alive_.insert(pid);
  }
  // The time has the kernel's tick: changes within the same tick may be
  // missing.
  timespec coarse{};
  clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
  const std::int64_t coarse_ns =
      std::int64_t{coarse.tv_sec} * 1'000'000'000 + coarse.tv_nsec;
  constexpr std::int64_t kSettledNs = 20'000'000;
  directory_changed_ns_ = changed_ns + kSettledNs < coarse_ns ? changed_ns : -1;
}

std::uint64_t TriggerWatcher::ReadStreams(std::uint64_t now_ns,
                                          const FlightKeeper* flight) {
  std::vector<Followed*> left;
  const auto begin = streams_.lower_bound(first_);
  for (auto at = begin; at != streams_.end(); ++at) left.push_back(&at->second);
  for (auto at = streams_.begin(); at != begin; ++at) {
    left.push_back(&at->second);
  }
  const std::uint64_t begin_ns = MonotonicNs();
  while (!left.empty()) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      Followed& followed = *left[i];
      const StreamFollower& follower = followed.follower;
      const bool cpu = follower.stream_class() == StreamClass::kCpu;
      const bool complete = followed.follower.Follow(
          cpu ? cpu_ : thread_, now_ns,
          flight != nullptr ? flight->overwritten_to(follower.name()) : 0,
          kSliceBytes, buffers_, followed.records);
      if (streams_.size() > kMostOpen) followed.follower.CloseFile();
      if (follower.open_error() != 0 && trouble_.empty()) {
        trouble_ = base::StatusText(base::ErrnoStatus(
            follower.open_error(), "Cannot open " + follower.name()));
      }
      if (!complete) left[kept++] = left[i];
    }
    left.resize(kept);
    if (MonotonicNs() - begin_ns >= kMostLookNs) break;
  }
  std::uint64_t horizon_ns = now_ns;
  for (const Followed* followed : left) {
    horizon_ns = std::min(horizon_ns, followed->follower.reached_ns());
  }
  if (!left.empty()) {
    first_ = left.front()->follower.name();
    ++late_looks_;
    most_late_ns_ = std::max(most_late_ns_, now_ns - horizon_ns);
  }
  return horizon_ns;
}

void TriggerWatcher::ApplyUntil(std::uint64_t horizon_ns) {
  struct Head {
    std::uint64_t time_ns;
    Followed* followed;
    std::size_t next;
    bool operator>(const Head& other) const { return time_ns > other.time_ns; }
  };
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (auto& [name, followed] : streams_) {
    if (!followed.records.empty()) {
      heads.push({followed.records.front().time_ns, &followed, 0});
    }
  }
  while (!heads.empty() && heads.top().time_ns <= horizon_ns) {
    Head head = heads.top();
    heads.pop();
    const std::vector<WatchedRecord>& records = head.followed->records;
    // As long as no other stream has an older record.
    const std::uint64_t until_ns =
        heads.empty() ? horizon_ns : std::min(horizon_ns, heads.top().time_ns);
    while (head.next < records.size() &&
           records[head.next].time_ns <= until_ns) {
      calls_.Apply(records[head.next++], fired_);
    }
    if (head.next < records.size()) {
      head.time_ns = records[head.next].time_ns;
      heads.push(head);
    } else {
      head.followed->records.clear();
    }
  }
  // The streams that stopped at the horizon.
  for (; !heads.empty(); heads.pop()) {
    std::vector<WatchedRecord>& records = heads.top().followed->records;
    records.erase(
        records.begin(),
        records.begin() + static_cast<std::ptrdiff_t>(heads.top().next));
  }
}

void TriggerWatcher::Look(std::uint64_t now_ns, const FlightKeeper* flight) {
  if (!watches_records_) return;
  RefreshHooks();
  if (generation_ == 0) return;
  FindStreams();
  const std::uint64_t horizon_ns = ReadStreams(now_ns, flight);
  ApplyUntil(horizon_ns);
  calls_.FindTooLong(
      horizon_ns,
      [this](std::int32_t pid, std::int32_t tid, std::uint64_t enter_ns) {
        return IsGone(pid, tid, enter_ns);
      },
      fired_);
  for (const Fired& fired : fired_) Fire(fired);
  fired_.clear();
}

// If in doubt the thread exists: in a container its ids may differ.
bool TriggerWatcher::IsGone(std::int32_t pid, std::int32_t tid,
                            std::uint64_t enter_ns) {
  constexpr std::uint64_t kTickNs = 20'000'000;
  const std::optional<std::uint64_t> begin_ns = ThreadBeginNs(pid, tid);
  if (begin_ns)
    return *begin_ns > enter_ns + kTickNs;  // belongs to a later thread
  return seen_alive_.contains(pid);
}

std::string TriggerWatcher::Describe(const Fired& fired) const {
  const auto name = names_.find(fired.hook);
  std::string what = name == names_.end() ? "?" : name->second;
  if (triggers_[fired.trigger].kind == TriggerKind::kHook) {
    what += " was reached";
  } else {
    what += (fired.open ? " has taken " : " took ") +
            Duration(fired.duration_ns) + (fired.open ? " and goes on" : "");
  }
  if (fired.tid <= 0) return what + absl::StrFormat(" on CPU %d", fired.cpu);
  what += absl::StrFormat(" in tid %d", fired.tid);
  const auto comm = base::ReadSmallFile(
      absl::StrFormat("/proc/%d/task/%d/comm", fired.pid, fired.tid));
  if (comm.ok())
    what += absl::StrFormat(" (%s)", std::string(base::Trim(*comm)));
  return what;
}

void TriggerWatcher::Fire(const Fired& fired) {
  if (schedule_.Accept(fired.trigger, fired.time_ns)) {
    const Trigger& trigger = triggers_[fired.trigger];
    // One for each trigger is enough: there may be thousands a second.
    if ((trigger.pause || trigger.resume) &&
        !schedule_.is_first(fired.trigger)) {
      schedule_.Add(fired.trigger, fired.time_ns, "again");
      return;
    }
    std::string what = Describe(fired);
    if (trigger.start) {
      what += absl::StrFormat(
          "; the %s before are left out",
          Duration(fired.time_ns - std::min(fired.time_ns, begin_ns_)));
    }
    Fire(fired.trigger, fired.time_ns, std::move(what));
  }
}

void TriggerWatcher::Fire(std::size_t trigger, std::uint64_t time_ns,
                          std::string what) {
  notice_(absl::StrFormat(
      "trigger at %s: %s",
      base::FormatInstant(time_ns - std::min(time_ns, begin_ns_)),
      base::EscapeName(what)));
  schedule_.Add(trigger, time_ns, std::move(what));
}

void TriggerWatcher::OnTime(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < triggers_.size(); ++i) {
    const Trigger& trigger = triggers_[i];
    if (trigger.kind != TriggerKind::kTime || now_ns < next_ns_[i]) continue;
    // One for all that a stopped recorder missed.
    const std::uint64_t passed = (now_ns - begin_ns_) / trigger.every_ns;
    const std::uint64_t due_ns = begin_ns_ + passed * trigger.every_ns;
    next_ns_[i] = due_ns + trigger.every_ns;
    if (schedule_.Accept(i, due_ns)) {
      Fire(i, due_ns,
           absl::StrFormat("%d times %s have passed", passed,
                           Duration(trigger.every_ns)));
    }
  }
}

bool TriggerWatcher::OnSignal(int number, std::uint64_t now_ns) {
  bool ours = false;
  for (std::size_t i = 0; i < triggers_.size(); ++i) {
    if (triggers_[i].kind != TriggerKind::kSignal ||
        triggers_[i].signal != number) {
      continue;
    }
    ours = true;
    if (!schedule_.Accept(i, now_ns)) continue;
    Fire(i, now_ns, TriggerSignalName(number) + " came");
  }
  return ours;
}

std::vector<std::string> TriggerWatcher::Describe() const {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < triggers_.size(); ++i) {
    const Trigger& trigger = triggers_[i];
    const std::uint64_t times = schedule_.fired(i);
    std::string text = absl::StrFormat("Trigger \"%s\" fired ", trigger.text);
    text += times == 1 ? "once" : absl::StrFormat("%d times", times);
    if (const std::uint64_t suppressed = schedule_.suppressed(i);
        suppressed > 0) {
      text += absl::StrFormat(
          ", %d of them suppressed (%s)", suppressed,
          trigger.stop     ? "the first one ended the recording"
          : trigger.start  ? "what is counted began at the first one"
          : trigger.pause  ? absl::StrFormat("it was a pause already, or "
                                              "there were %d of them",
                                             logformat::kMostPauses)
          : trigger.resume ? "there was no pause to end"
          : trigger.limit > 0
              ? absl::StrFormat("at most %d times, every %s", trigger.limit,
                                Duration(trigger.min_interval_ns))
              : "at most every " + Duration(trigger.min_interval_ns));
    }
    if (WatchesRecords(trigger) && (calls_.matched() >> i & 1) == 0) {
      text += absl::StrFormat(
          ": no %s with a matching name was recorded; hooks=%d; kernel hooks "
          "need --kernel or --hook",
          trigger.kind == TriggerKind::kSegment ? "segment" : "hook",
          hooks_.generation() == 0 ? 0 : hooks_.hooks().size());
    } else if (const std::string missing = values_.Missing(i);
               !missing.empty()) {
      text += ": " + missing;
    }
    messages.push_back(std::move(text));
  }
  std::uint64_t skipped = 0;
  for (const auto& [name, followed] : streams_) {
    skipped += followed.follower.skipped_bytes();
  }
  if (late_looks_ > 0 || skipped > 0) {
    messages.push_back(absl::StrFormat(
        "Triggers were late: records came faster than they were checked; "
        "checks=%d, at most %s behind; bytes of records never checked, because "
        "they were overwritten or damaged: %d",
        late_looks_, Duration(most_late_ns_), skipped));
  }
  if (calls_.forgotten() > 0 || calls_.too_deep() > 0) {
    messages.push_back(absl::StrFormat(
        "Triggers did not see the end of some calls: after lost records "
        "calls=%d, more than %d open in a thread calls=%d",
        calls_.forgotten(), OpenCalls::kMaxDepth, calls_.too_deep()));
  }
  if (!trouble_.empty()) {
    messages.push_back("Triggers could not be watched at times: " + trouble_);
  }
  return messages;
}

}  // namespace countrace::runtime
