// A CTF 2 trace as a directory that libbabeltrace2 before 2.1 reads: its
// streams by links, and its metadata as TSDL.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_OLDER_METADATA_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_OLDER_METADATA_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/file_output.h"

namespace countrace::importer {

// In the directory of the new trace; one for each trace that is read, by its
// number. The parent of countrace-import removes it.
inline constexpr char kOlderTraces[] = ".ctf1";

// For countrace-import, which makes the directories before it enters its jail,
// and looks into the metadata there.
class OlderMetadata {
 public:
  // `directories` are of traces of any kind; those of CTF 2 become the new ones
  // below `output`, unless the library reads CTF 2 itself.
  absl::Status Prepare(const std::string& output,
                       std::vector<std::string>& directories);
  // Errors: of TranslateToTsdl(), with the trace's path.
  absl::Status Write();

 private:
  struct Trace {
    std::string source;
    base::FileOutput metadata;
  };
  std::vector<Trace> traces_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_OLDER_METADATA_H_
