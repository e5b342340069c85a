// What perf.data says of the recording in its features: the machine, the
// command, names of events, clocks.
//
// In: a feature's bytes, untrusted. Out: parts of FileDescription. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/data_file.h"

namespace countrace::importer::perf {

// Features that nobody needs here are left alone. Returns: DATA_LOSS the
// section ends too early; what the file cannot be read for.
absl::Status ReadFeature(std::uint32_t bit, ByteReader section,
                         FileDescription& out);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_
