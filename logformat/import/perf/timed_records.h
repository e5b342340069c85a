// The records of a perf.data file in the order of time, each with its
// attribute. Records that perf synthesized for the state before the recording
// have no time and come first, in the order of the file.
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
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/record_reader.h"
#include "logformat/import/perf/round_sorter.h"
#include "logformat/import/perf/sample.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

class RecordReceiver {
 public:
  virtual ~RecordReceiver() = default;
  // A record of perf itself, or one of the kernel without a time.
  virtual absl::Status OnUntimed(const RawRecord& record) = 0;
  // `sample`: the fields of a sample; for other records those at the end.
  virtual absl::Status OnTimed(std::uint64_t time_ns, const RawRecord& record,
                               const EventAttribute& attribute,
                               const Sample& sample) = 0;
  // Called now and then; `done_bytes` of the file were read.
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

  // INVALID_ARGUMENT: records do not name their event.
  const absl::Status& status() const { return attributes_.status(); }
  // Delivers all. Returns: INVALID_ARGUMENT the defect and where; the
  // receiver's error.
  absl::Status Read();
  absl::Status Malformed(const RawRecord& record) const;
  // Adds late and repeated records to `info.not_known`.
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
  // Records of the time that is being delivered.
  std::vector<RawRecord> same_time_;
  std::uint64_t same_time_ns_ = 0, repeated_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_TIMED_RECORDS_H_
