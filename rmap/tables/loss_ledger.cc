#include "rmap/tables/loss_ledger.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/discard_errors.h"

namespace countrace::rmap {

using logformat::DiscardCause;

namespace {

std::string ErrnoText(std::uint32_t error) {
  if (error == 0) return "";
  return absl::StrFormat(" (%s)", strerror(static_cast<int>(error)));
}

// The remedy, as the end of a sentence.
std::string Remedy(DiscardCause cause, std::uint32_t session_errno) {
  switch (cause) {
    case DiscardCause::kNoSubBuffer:
      return "no sub-buffer was ready: raise --sub-buffers, or switch off hot "
             "hooks";
    case DiscardCause::kTraceFull:
      return "the size limit was reached (a flight recording overwrites its "
             "oldest): raise it, or record in stream mode";
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
      if (session_errno == logformat::kNoCallsAllowed) {
        return "threads under a seccomp filter or in its strict mode: no other "
               "thread could make their system calls";
      }
      if (session_errno == logformat::kSharesThreadStorage) {
        return "tasks that clone(CLONE_VM) made with the thread-local storage "
               "of a thread: their hooks are not recorded";
      }
      if (session_errno == logformat::kNoStreamLeft) {
        return "threads and forked children that started after their program "
               "had given up access to the trace (another user, root or "
               "mounts): "
               "it had kept 64 streams for them";
      }
      if (session_errno == logformat::kRegistryIsLocked) {
        return "programs whose hooks stayed off: another process held the lock "
               "on .hooks when they started";
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

}  // namespace

void LossLedger::Add(const logformat::DiscardedEvents& loss) {
  std::uint64_t named = 0;
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    by_cause_[i] += loss.by_cause[i];
    named += loss.by_cause[i];
    if (loss.overwritten &&
        i == static_cast<std::size_t>(DiscardCause::kTraceFull)) {
      overwritten_ += loss.by_cause[i];
    } else if (loss.by_cause[i] > worst_[i].records) {
      worst_[i] = {loss.by_cause[i], loss.cpu, loss.tid};
    }
  }
  // A damaged packet context can contradict itself: use the larger number.
  if (loss.count > named) unknown_cause_ += loss.count - named;
}

void LossLedger::Add(const logformat::DiscardedPackets& loss) {
  packets_ += loss.packets;
  ++packet_gaps_;
  if (places_.size() < kMaxPlaces) places_.push_back(loss.reason);
}

void LossLedger::AddMessage(std::string message) {
  messages_.push_back(std::move(message));
}

Loss LossLedger::Finish(const logformat::TraceReader& reader) const {
  Loss out;
  const auto session = reader.session_discarded();
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    const std::uint64_t records = by_cause_[i] + session[i];
    if (records == 0) continue;
    out.discarded_events += records;
    out.by_cause[logformat::kDiscardCauseNames[i]] = records;
    std::uint64_t others = records;
    if (i == static_cast<std::size_t>(DiscardCause::kTraceFull) &&
        overwritten_ != 0) {
      others -= overwritten_;
      out.messages.push_back(absl::StrFormat(
          "%d event records were overwritten: a flight recording keeps the "
          "newest, and the tables begin behind the others",
          overwritten_));
    }
    if (others == 0) continue;
    std::string where;
    if (worst_[i].records != 0) {
      where = worst_[i].cpu >= 0
                  ? absl::StrFormat(", most at once on cpu %d", worst_[i].cpu)
                  : absl::StrFormat(", most at once by tid %d", worst_[i].tid);
    }
    out.messages.push_back(absl::StrFormat(
        "%d event records discarded%s: %s", others, where,
        Remedy(static_cast<DiscardCause>(i), reader.session_last_errno())));
  }
  for (const logformat::NotRecorded& what : reader.info().not_recorded) {
    out.messages.push_back(what.text);
    if (what.cause == logformat::kNotJoined) {
      out.not_joined += what.count;
      continue;
    }
    out.discarded_events += what.count;
    out.by_cause[what.cause] += what.count;
  }
  out.overwritten = overwritten_;
  if (unknown_cause_ != 0) {
    out.discarded_events += unknown_cause_;
    out.by_cause["unknown"] = unknown_cause_;
    out.messages.push_back(absl::StrFormat(
        "%d event records discarded: the packets do not say why; check the "
        "trace with countrace verify",
        unknown_cause_));
  }
  out.discarded_packets = packets_;
  for (const std::string& place : places_) {
    out.messages.push_back("packets lost: " + place);
  }
  if (packet_gaps_ > places_.size()) {
    out.messages.push_back(
        absl::StrFormat("packets lost: %d more places; see countrace verify",
                        packet_gaps_ - places_.size()));
  }
  out.clock_errors = clock_errors_;
  if (clock_errors_ != 0) {
    out.messages.push_back(absl::StrFormat(
        "%d records have a time before the preceding record: its time is used",
        clock_errors_));
  }
  for (const auto* messages : {&reader.messages(), &messages_}) {
    out.messages.insert(out.messages.end(), messages->begin(), messages->end());
  }
  return out;
}

}  // namespace countrace::rmap
