// Whole trace directories as values: for comparing them, and for damaging
// copies.
#ifndef COUNTRACE_TESTS_LOGFORMAT_DIRECTORY_BYTES_H_
#define COUNTRACE_TESTS_LOGFORMAT_DIRECTORY_BYTES_H_

#include <map>
#include <string>

namespace countrace::logformat {

// File name to content; hidden files included.
using DirectoryBytes = std::map<std::string, std::string>;

DirectoryBytes ReadDirectory(const std::string& path);
// Replaces the content of `path`, which is created if needed.
void WriteDirectory(const std::string& path, const DirectoryBytes& files);

}  // namespace countrace::logformat

#endif  // COUNTRACE_TESTS_LOGFORMAT_DIRECTORY_BYTES_H_
