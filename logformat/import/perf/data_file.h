// Reads a perf.data file: its header, the counted events (attributes), the
// description of the machine (features), and the position of its records. Also
// reads what `perf record -o -` writes to a pipe, where records hold the same
// information.
//
// In: the bytes of a file, untrusted. Out: FileDescription. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "logformat/import/perf/file_description.h"

namespace countrace::importer::perf {

// True if a file's first bytes are those of perf.data.
bool IsPerfData(std::span<const std::byte> bytes);

// `bytes`: the whole file, which must outlive the description. Returns:
// INVALID_ARGUMENT the defect and its offset.
absl::StatusOr<FileDescription> DescribeFile(std::span<const std::byte> bytes);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_
