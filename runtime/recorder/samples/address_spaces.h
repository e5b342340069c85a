// Where the code of each process lies: address to file and offset, at the
// current point of the recording.
//
// In: mappings of code, new programs, forks and ends, in time order. Processes
// that ran before are looked up in /proc/PID/maps when they are first asked
// for. Out: places. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_ADDRESS_SPACES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_ADDRESS_SPACES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/code/code_map.h"
#include "logformat/code_ranges.h"
#include "logformat/image_parts.h"
#include "runtime/recorder/samples/file_identities.h"
#include "runtime/recorder/samples/file_thread.h"
#include "runtime/recorder/samples/jit_dump_files.h"
#include "runtime/recorder/samples/process_maps.h"

namespace countrace::runtime {

// What code is mapped from; no two of them are equal.
struct CodeFile {
  std::string path;  // or one of logformat/sample_points.h
  // Hexadecimal, or base/code/file_version.h's; kNoText: none is known (yet).
  std::string build_id;
  std::int32_t pid = 0;     // of kJitCode: the process it is of
  bool is_awaited = false;  // its build id may become known
};

class CodeFiles {
 public:
  // Its build id may be a stand-in of FileIdentities.
  std::uint32_t Number(const CodeFile& file);
  // A stand-in stands for this; empty: it will not be known.
  void Complete(const std::string& stand_in, const std::string& build_id);
  // Those that got their build ids later, in this order.
  const std::vector<std::uint32_t>& completed() const { return completed_; }
  const CodeFile& operator[](std::uint32_t number) const {
    return files_[number];
  }
  std::size_t size() const { return files_.size(); }

 private:
  std::vector<CodeFile> files_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  absl::flat_hash_map<std::string, std::string> known_;      // by stand-in
  absl::flat_hash_map<std::string, std::uint32_t> awaited_;  // by stand-in
  std::vector<std::uint32_t> completed_;
};

using base::CodePlace;  // `file` is of CodeFiles

class AddressSpaces final : public base::CodeMap {
 public:
  explicit AddressSpaces(CodeFiles& files);

  // `path` as the kernel shows it; `build_id` may be empty: none is known.
  void Map(std::int32_t pid, std::uint64_t start, std::uint64_t bytes,
           std::uint64_t offset, std::string_view path, std::string build_id);
  void NewProgram(std::int32_t pid);
  void Fork(std::int32_t parent_pid, std::int32_t pid);
  void End(std::int32_t pid) { spaces_.erase(pid); }
  // As /proc shows them, or as many as are read of a process.
  std::vector<ProcessMapping> MappingsOf(std::int32_t pid);
  // Looks its mappings up now: it may have ended when they are needed.
  void ReadMappings(std::int32_t pid) { Known(pid); }

  // What stands for the build id of a file, for CodeFiles, where the kernel did
  // not show one; empty: it has none.
  std::string StandInOf(std::int32_t pid, const std::string& path,
                        const MappedInode& inode);
  // Completes the files of which became known what they are.
  void TakeIdentities();
  // The loaded parts of a file of the process; empty: they are not known, or it
  // takes too long to read them.
  std::vector<logformat::ImagePart> ImagePartsOf(std::int32_t pid,
                                                 const std::string& path);
  // At the end: waits a moment for the others. Appends to `messages` what is
  // missing.
  void EndIdentities(std::vector<std::string>& messages);

  CodePlace Find(std::int32_t pid, std::uint64_t address) override;
  bool Open(std::int32_t pid, std::uint32_t file,
            base::UnwindFile& out) override;
  bool OpenOwn(base::UnwindFile& out) override;
  const JitDumps& jit_dumps() const { return jit_dumps_; }
  std::uint32_t unknown() const override { return unknown_; }

 private:
  using Space = logformat::CodeRanges;

  Space& Own(std::int32_t pid);
  const Space& Known(std::int32_t pid);
  void Scan(std::int32_t pid, Space& space);
  void Add(std::int32_t pid, std::uint64_t start, std::uint64_t end,
           std::uint64_t offset, std::string_view path, std::string build_id,
           Space& space);

  CodeFiles& files_;
  const std::uint32_t unknown_;
  FileThread thread_;
  FileIdentities identities_{thread_};
  JitDumps jit_dumps_{thread_};
  std::set<std::int32_t> cut_maps_;  // processes with too many mappings
  // A forked process shares its parent's until one of them changes.
  absl::flat_hash_map<std::int32_t, std::shared_ptr<Space>> spaces_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_ADDRESS_SPACES_H_
