// The values of single calls, from the records of their enters and exits: a
// second reading of the trace.
#ifndef COUNTRACE_CLI_REPORT_CALL_TEXTS_H_
#define COUNTRACE_CLI_REPORT_CALL_TEXTS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "logformat/read/named_value.h"
#include "logformat/read/trace_reader.h"
#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/slowest_calls.h"

namespace countrace::cli {

class CallTexts final : public logformat::ItemSink {
 public:
  using Threads =
      std::unordered_map<std::uint32_t, const rmap::ThreadRow*>;  // ThreadIndex

  CallTexts(const logformat::TraceInfo& info,
            const std::vector<rmap::SlowCall>& calls, const Threads& threads);

  void OnRecord(const logformat::EventRecord& record) override;
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override {}
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {}

  // "{ size = 7 }"; empty: no values.
  std::string Of(const rmap::SlowCall& call, std::size_t index) const;

 private:
  struct Text {
    std::string text;
    bool quoted;
  };
  using Values = std::map<std::string, Text>;
  using Readers = std::vector<std::pair<std::string, logformat::NamedValue>>;

  // Returns false if its calls have no values.
  bool AddHook(const logformat::TraceInfo& info,
               const logformat::HookInfo& hook);
  struct Key {
    std::uint64_t time_ns;
    std::uint32_t hook_id;
    std::int32_t tid;
    bool exit;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::size_t> wanted_;
  std::map<std::uint32_t, Readers> hooks_;
  std::vector<Values> values_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_CALL_TEXTS_H_
