#include "rmap/tables/input/loss_ledger.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::rmap {

using logformat::DiscardCause;

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
  if (loss.packets == 0) ++uncounted_gaps_;
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
    out.AddDiscarded(logformat::kDiscardCauseNames[i], records);
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
    out.messages.push_back(
        absl::StrFormat("%d event records discarded%s: %s", others, where,
                        logformat::LossRemedy(static_cast<DiscardCause>(i),
                                              reader.session_last_errno())));
  }
  for (const auto& what : logformat::NotRecordedOf(reader.info())) {
    out.messages.push_back(what.text);
    out.Add(what);
  }
  out.overwritten = overwritten_;
  if (unknown_cause_ != 0) {
    out.AddDiscarded("unknown", unknown_cause_);
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
  out.damaged = reader.messages().size() + uncounted_gaps_;
  out.unfinished = reader.info().finished ? 0 : 1;
  for (const auto* messages : {&reader.messages(), &messages_}) {
    out.messages.insert(out.messages.end(), messages->begin(), messages->end());
  }
  return out;
}

}  // namespace countrace::rmap
