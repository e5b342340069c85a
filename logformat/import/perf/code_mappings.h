// Where the code of each process lies in files, at the current point of a
// perf.data file.
//
// In: MMAP and MMAP2 records, forks and new programs, by time. Out: places, in
// the terms of logformat/sample_points.h. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/code_ranges.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/record_reader.h"

namespace countrace::importer::perf {

struct MappedFile {
  std::string path;      // or one of logformat/sample_points.h
  std::string build_id;  // hexadecimal; logformat::kNoText: not known
};

struct MappedPlace {
  std::uint32_t file = 0;  // of CodeMappings::files()
  std::uint64_t address = 0;
};

class CodeMappings {
 public:
  // `file`: its build ids; it must outlive this.
  explicit CodeMappings(const FileDescription& file);

  // A mapping; those that are no code of a process are left out. False: the
  // record is shorter than its fields.
  bool OnRecord(const RawRecord& record);
  void Fork(std::int32_t parent_pid, std::int32_t pid);
  void NewProgram(std::int32_t pid);
  void End(std::int32_t pid) { spaces_.erase(pid); }

  MappedPlace Find(std::int32_t pid, std::uint64_t address) const;
  std::uint32_t kernel() const { return kernel_; }
  const std::vector<MappedFile>& files() const { return files_; }

 private:
  using Space = logformat::CodeRanges;

  void Map(std::int32_t pid, std::uint64_t start, std::uint64_t bytes,
           std::uint64_t offset, std::string_view path, std::string build_id);
  std::uint32_t FileOf(std::int32_t pid, MappedFile file);
  Space& Own(std::int32_t pid);

  const FileDescription& description_;
  std::vector<MappedFile> files_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  const std::uint32_t unknown_, kernel_;
  // A forked process shares its parent's until one of them changes.
  absl::flat_hash_map<std::int32_t, std::shared_ptr<Space>> spaces_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_
