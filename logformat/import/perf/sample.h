// The fields of perf's samples, and thread, time and CPU at the end of its
// other records (include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE and
// sample_id).
//
// Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "logformat/import/perf/file_description.h"

namespace countrace::importer::perf {

struct ReadValue {
  std::uint64_t value = 0, id = 0;
};

// Missing fields are 0, or -1.
struct Sample {
  std::uint64_t id = 0;
  std::uint64_t ip = 0, address = 0, period = 0, time_ns = 0;
  std::int32_t pid = -1, tid = -1, cpu = -1;
  // PERF_SAMPLE_READ: values of the event, or of its whole group.
  std::vector<ReadValue> values;
  std::uint64_t enabled_ns = 0, running_ns = 0;
  // PERF_SAMPLE_CALLCHAIN: innermost first, with markers of whose code follows.
  std::vector<std::uint64_t> chain;
  std::span<const std::byte> raw;  // of a tracepoint
  // PERF_SAMPLE_REGS_USER: those of the attribute, in the order of its bits. Of
  // kernel threads there are none.
  std::vector<std::uint64_t> registers;
  std::uint64_t registers_abi = 0;  // PERF_SAMPLE_REGS_ABI_...
  // PERF_SAMPLE_STACK_USER: from the stack pointer up. Cut: it has all bytes
  // that were asked for, or had room.
  std::span<const std::byte> stack;
  bool stack_is_cut = false;
  // PERF_SAMPLE_DATA_SRC and PERF_SAMPLE_WEIGHT, of a PMU.
  std::uint64_t data_source = 0, weight = 0;
};

// False: the record is shorter than its fields.
bool ReadSample(const EventAttribute& attribute,
                std::span<const std::byte> body, bool swapped, Sample& out);
// Reads the end of another record of the kernel; zeros if the attribute's
// records have none.
bool ReadTrailer(const EventAttribute& attribute,
                 std::span<const std::byte> body, bool swapped, Sample& out);

// Finds the attribute of a record.
class RecordAttributes {
 public:
  explicit RecordAttributes(const FileDescription& file);
  // INVALID_ARGUMENT: the attribute cannot be determined.
  const absl::Status& status() const { return status_; }
  // Null: no event has its id.
  const EventAttribute* OfSample(std::span<const std::byte> body) const;
  const EventAttribute* OfOther(std::span<const std::byte> body) const;

 private:
  const EventAttribute* Of(std::span<const std::byte> body,
                           std::size_t at) const;

  const FileDescription& file_;
  // Byte offset of the id, from the begin of samples and from the end of
  // others; -1: records have none.
  std::int64_t sample_at_ = -1, other_at_ = -1;
  absl::Status status_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_H_
