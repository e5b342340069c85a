// The records of a perf.data file in the order of time, each with the attribute
// it is of. Records that perf made of what was there before have no time and
// come first, as they lie.
//
// In: a file's bytes. Out: records to a receiver. Memory: RoundSorter's.
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_TIMED_RECORDS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_TIMED_RECORDS_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/import/perf/data_file.h"
#include "logformat/import/perf/record_reader.h"
#include "logformat/import/perf/round_sorter.h"
#include "logformat/import/perf/sample.h"
#include "logformat/read/trace_reader.h"

namespace countrace::importer::perf {

class RecordReceiver {
 public:
  virtual ~RecordReceiver() = default;
  // One of perf's own, or of the kernel's without a time.
  virtual absl::Status OnUntimed(const RawRecord& record) = 0;
  // `sample`: its fields, of other records its end.
  virtual absl::Status OnTimed(std::uint64_t time_ns, const RawRecord& record,
                               const EventAttribute& attribute,
                               const Sample& sample) = 0;
  // Now and then. `done_bytes` of the file were read.
  virtual absl::Status OnProgress(std::uint64_t done_bytes) = 0;
};

class TimedRecords {
 public:
  TimedRecords(std::span<const std::byte> bytes, const FileDescription& file,
               RecordReceiver& receiver)
      : bytes_(bytes),
        file_(file),
        receiver_(receiver),
        attributes_(file),
        reader_(bytes, file) {}

  // INVALID_ARGUMENT: records do not say which event they are of.
  const absl::Status& status() const { return attributes_.status(); }
  // Delivers all. Returns: INVALID_ARGUMENT what is wrong and where; what the
  // receiver returned.
  absl::Status Read();
  absl::Status Malformed(const RawRecord& record) const;
  // Says what came too late, and what nobody knows.
  void Finish(logformat::TraceInfo& info) const;

 private:
  const EventAttribute* AttributeOf(const RawRecord& record) const;
  bool ReadFields(const RawRecord& record, const EventAttribute& attribute);
  absl::Status Take(RawRecord record);
  absl::Status Deliver(std::uint64_t time_ns, const RawRecord& record);
  // perf 6.1 stores some pieces of a busy CPU's buffer twice.
  bool IsRepeated(std::uint64_t time_ns, const RawRecord& record);

  const std::span<const std::byte> bytes_;
  const FileDescription& file_;
  RecordReceiver& receiver_;
  const RecordAttributes attributes_;
  RecordReader reader_;
  RoundSorter<RawRecord> sorter_;
  Sample sample_;
  std::uint64_t last_ns_ = 0, taken_ = 0;
  std::map<std::uint32_t, std::uint64_t> unknown_types_;
  // Of the time that is delivered at the moment.
  std::vector<RawRecord> same_time_;
  std::uint64_t same_time_ns_ = 0, repeated_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_TIMED_RECORDS_H_
