// Reads the features of perf.data, which describe the recording: the machine,
// the command, names of events, clocks.
//
// In: a feature's bytes, untrusted. Out: parts of FileDescription. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/file_description.h"

namespace countrace::importer::perf {

// A record with the build id of a file: in the feature of build ids, or in the
// data of a pipe's file.
void ReadBuildId(ByteReader body, FileDescription& out);

// Ignores features that are not needed here. Returns: DATA_LOSS the section
// ends too early; an error if the file cannot be read because of the feature.
absl::Status ReadFeature(std::uint32_t bit, ByteReader section,
                         FileDescription& out);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_FEATURES_H_
