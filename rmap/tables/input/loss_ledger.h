// Everything that is missing from a trace, by cause, with its remedy.
//
// In: DiscardedEvents, DiscardedPackets, inconsistencies that reconstruction
// found. Out: Loss. Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_LOSS_LEDGER_H_
#define COUNTRACE_RMAP_TABLES_INPUT_LOSS_LEDGER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

class LossLedger {
 public:
  void Add(const logformat::DiscardedEvents& loss);
  void Add(const logformat::DiscardedPackets& loss);
  void AddClockError() { ++clock_errors_; }
  // Adds a finding that is not a count of records: what, where, remedy.
  void AddMessage(std::string message);

  // Also adds the session's own discards, which belong to no stream.
  Loss Finish(const logformat::TraceReader& reader) const;

 private:
  // Damage repeats: beyond this number, places are only counted.
  static constexpr std::size_t kMaxPlaces = 10;

  std::array<std::uint64_t, logformat::kDiscardCauses> by_cause_{};
  std::uint64_t unknown_cause_ = 0, overwritten_ = 0;
  // The stream that lost most records by one cause in one gap, for the message.
  struct Worst {
    std::uint64_t records = 0;
    std::int32_t cpu = -1, tid = -1;
  };
  std::array<Worst, logformat::kDiscardCauses> worst_{};
  std::uint64_t packets_ = 0;
  std::uint64_t packet_gaps_ = 0, uncounted_gaps_ = 0;
  std::uint64_t clock_errors_ = 0;
  std::vector<std::string> places_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_LOSS_LEDGER_H_
