#include "tests/logformat/directory_bytes.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace countrace::logformat {

DirectoryBytes ReadDirectory(const std::string& path) {
  DirectoryBytes files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ostringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename()] = content.str();
  }
  return files;
}

void WriteDirectory(const std::string& path, const DirectoryBytes& files) {
  std::filesystem::remove_all(path);
  std::filesystem::create_directory(path);
  for (const auto& [name, content] : files) {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
  }
}

}  // namespace countrace::logformat
