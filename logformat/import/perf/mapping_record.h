// MMAP and MMAP2 records of perf.data: what is mapped, where, and from which
// file.
//
// Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_MAPPING_RECORD_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_MAPPING_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/record_reader.h"

namespace countrace::importer::perf {

struct MappingRecord {
  std::int32_t pid = 0;  // -1: of the kernel
  std::uint64_t start = 0, bytes = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t inode = 0;   // of the file; 0: not in the record
  std::string build_id;      // hexadecimal; empty: not in the record
  std::string_view path;     // as long as the record
  bool is_code = false;      // can be executed
  bool of_kernel = false;    // the kernel's own, or a module's
};

// False: the record is shorter than its fields.
bool ReadMapping(const RawRecord& record, const FileDescription& file,
                 MappingRecord& out);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_MAPPING_RECORD_H_
