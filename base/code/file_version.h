// The version of a file of code that has no build id. Others that had, or will
// have, its path have another one: a rebuilt one, or that of another container.
//
// Thread: any.
#ifndef COUNTRACE_BASE_CODE_FILE_VERSION_H_
#define COUNTRACE_BASE_CODE_FILE_VERSION_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace countrace::base {

// The time of its last change, ns since 1970.
std::int64_t ChangedNs(const struct stat& file);
// "mtime=1732658400.000000001,size=2048", in the place of a build id.
std::string FileVersion(const struct stat& file);
// That of a file that is gone: "inode=77". No file here has it.
std::string GoneFileVersion(std::uint64_t inode);
// False: a build id, or none that is known.
bool IsFileVersion(std::string_view text);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_FILE_VERSION_H_
