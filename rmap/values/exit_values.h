// Values that only the exits of calls have, `ret` for one, by their enters:
// rows are chosen when a call begins.
//
// In: all records of a trace, ahead of its reconstruction. Out: a number of
// ValueTable for each enter. After lost records, and calls that were left out,
// nothing is known of the calls that are open. Memory: by calls. Thread: one.
#ifndef COUNTRACE_RMAP_VALUES_EXIT_VALUES_H_
#define COUNTRACE_RMAP_VALUES_EXIT_VALUES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "rmap/values/value_table.h"

namespace countrace::rmap {

class ExitValues final : public logformat::ItemSink {
 public:
  // Both must outlive it.
  ExitValues(const logformat::NamedValue& named, ValueTable& table)
      : named_(named), table_(table) {}

  // Such calls' values are here.
  bool IsOf(std::uint32_t hook_id) const {
    return named_.IsOf(hook_id, /*exits=*/true) && !named_.IsOf(hook_id);
  }
  // Requires: IsOf() of its hook.
  std::uint32_t OfEnter(const logformat::EventRecord& enter,
                        std::uint32_t hook_id, std::int32_t tid) const {
    const auto found = values_.find({enter.time_ns, hook_id, tid});
    return found == values_.end() ? ValueTable::kNone : found->second;
  }
  std::uint32_t OfExit(const logformat::EventRecord& exit) const {
    const auto text = logformat::TextOf(named_.Of(exit));
    return text ? table_.Of(*text) : ValueTable::kNone;
  }

  void OnRecord(const logformat::EventRecord& record) override;
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override {
    open_.clear();
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {
    open_.clear();
  }

 private:
  struct Call {
    std::uint32_t hook_id;
    std::uint64_t begin_ns;
  };

  const logformat::NamedValue& named_;
  ValueTable& table_;
  std::unordered_map<std::int32_t, std::vector<Call>> open_;  // by thread
  // By begin, hook and thread.
  absl::flat_hash_map<std::tuple<std::uint64_t, std::uint32_t, std::int32_t>,
                      std::uint32_t>
      values_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_VALUES_EXIT_VALUES_H_
