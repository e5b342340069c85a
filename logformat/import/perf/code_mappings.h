// Where the code of each process lies in files, at the current point of a
// perf.data file, and these files on this machine.
//
// In: mappings, forks and new programs, by time. Out: places, in the terms of
// logformat/sample_points.h. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/code/code_map.h"
#include "logformat/code_ranges.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/machine_files.h"
#include "logformat/import/perf/mapping_record.h"

namespace countrace::importer::perf {

struct MappedFile {
  std::string path;         // or one of logformat/sample_points.h
  std::string build_id;     // hexadecimal; logformat::kNoText: none is known
  std::uint64_t inode = 0;  // 0: not known
  std::int32_t pid = 0;     // of kJitCode: the process that it is of
};

class CodeMappings final : public base::CodeMap {
 public:
  // `file`: its build ids, and the machine that it is of. Both must outlive
  // this.
  CodeMappings(const FileDescription& file, const MachineFiles& machine);

  // Requires: code of a process.
  void Map(const MappingRecord& mapping);
  void Fork(std::int32_t parent_pid, std::int32_t pid);
  void NewProgram(std::int32_t pid);
  void End(std::int32_t pid) { spaces_.erase(pid); }

  // Places' files are those of files().
  base::CodePlace Find(std::int32_t pid, std::uint64_t address) override;
  bool Open(std::int32_t pid, std::uint32_t file,
            base::UnwindFile& out) override;
  bool OpenOwn(base::UnwindFile& out) override;
  std::uint32_t unknown() const override { return unknown_; }

  // The file of what is in none: of this path of logformat/sample_points.h.
  std::uint32_t FileNamed(const char* path);
  // A file in which data lies; `build_id` may be empty.
  std::uint32_t FileOfData(const std::string& path, std::string build_id);
  const std::vector<MappedFile>& files() const { return files_; }
  // Its build id; of a file without one its version (base/code/file_version.h),
  // as far as it is here.
  std::string VersionOf(std::uint32_t file) const;
  // Paths of the files that Open() did not find as they were recorded.
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  using Space = logformat::CodeRanges;

  bool IsRecordedOne(const MappedFile& file, const base::ScopedFd& fd) const;
  std::uint32_t FileOf(std::int32_t pid, MappedFile file);
  Space& Own(std::int32_t pid);

  const FileDescription& description_;
  const MachineFiles& machine_;
  std::vector<MappedFile> files_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  const std::uint32_t unknown_;
  std::vector<std::string> missing_;
  // A forked process shares its parent's until one of them changes.
  absl::flat_hash_map<std::int32_t, std::shared_ptr<Space>> spaces_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_CODE_MAPPINGS_H_
