// A sample of perf.data as EventFields, and the plan of its attribute.
//
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_EVENT_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_EVENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/import/mapping/event_plan.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/sample.h"
#include "logformat/import/perf/tracepoint_formats.h"

namespace countrace::importer::perf {

// Fields that every sample has: members of FieldScope::kCommon. Counts that
// were read with it are members from kFirstCount on.
enum CommonField : std::uint32_t {
  kTid = 0,
  kPid = 1,
  kIp = 2,
  kPeriod = 3,
  kAddress = 4,
  kFirstCount = 16,
};

struct SamplePlan : EventPlan {
  const EventAttribute* attribute = nullptr;
  std::optional<Tracepoint> tracepoint;
  bool to_kernel = false;           // its events are facts of CPUs
  bool raw_syscall = false;         // its system call is a number
  std::vector<std::uint32_t> rest;  // fields in the last text of the payload
  // Places of payload values.
  std::vector<FieldPlace> payload;
};

// Holds references only.
class SampleEvent final : public EventFields {
 public:
  SampleEvent(const Sample& sample, const SamplePlan& plan,
              std::span<const std::uint64_t> counts, bool big_endian)
      : sample_(sample),
        plan_(plan),
        counts_(counts),
        values_(sample.raw, big_endian) {}

  std::optional<std::int64_t> Integer(FieldPlace place) const override;
  std::optional<std::string_view> Text(FieldPlace place) const override;
  std::optional<std::string> Bytes(FieldPlace place,
                                   std::size_t limit) const override;
  void AppendText(FieldPlace place, std::string& out) const override;
  void AppendPayload(std::string& out) const override;

 private:
  const TracepointField* FieldOf(FieldPlace place) const;

  const Sample& sample_;
  const SamplePlan& plan_;
  std::span<const std::uint64_t> counts_;
  TracepointValues values_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_EVENT_H_
