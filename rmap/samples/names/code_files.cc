#include "rmap/samples/names/code_files.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/elf_head.h"
#include "base/code/file_version.h"
#include "base/code/kept_files.h"
#include "base/posix/regular_file.h"

namespace countrace::rmap {
namespace {

using base::ScopedFd;

constexpr char kSystemDebug[] = "/usr/lib/debug";

bool IsBuildId(const std::string& id) {
  return !base::DebugFile(id).empty() && id.size() % 2 == 0;
}

// elfutils' client, if it is installed and DEBUGINFOD_URLS is set. `find`: the
// name of its function.
ScopedFd Fetch(const char* find, const std::string& build_id) {
  const char* const urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0' || !IsBuildId(build_id)) {
    return ScopedFd();
  }
  static void* const library =
      dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ScopedFd();
  using Begin = void* (*)();
  using End = void (*)(void*);
  // The id is a hexadecimal text if its length is 0.
  using Find = int (*)(void*, const unsigned char*, int, char**);
  const auto begin =
      reinterpret_cast<Begin>(dlsym(library, "debuginfod_begin"));
  const auto end = reinterpret_cast<End>(dlsym(library, "debuginfod_end"));
  const auto get = reinterpret_cast<Find>(dlsym(library, find));
  if (begin == nullptr || end == nullptr || get == nullptr) return ScopedFd();
  void* const client = begin();
  if (client == nullptr) return ScopedFd();
  const int file =
      get(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0,
          nullptr);
  end(client);
  return ScopedFd(file < 0 ? -1 : file);
}

// A plain name, without a way to another folder.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

// "x86_64-linux-gnu/bash.debug" of "../../.dwz/x86_64-linux-gnu/bash.debug".
std::string SharedName(const std::string& name) {
  constexpr std::string_view kFolder = ".dwz/";
  const std::size_t at = name.rfind(kFolder);
  if (at == name.npos || name.find('\0') != name.npos) return "";
  const std::string below = name.substr(at + kFolder.size());
  for (const auto& part : std::filesystem::path(below)) {
    if (!IsPlainName(part.string())) return "";
  }
  return below;
}

// The last one, empty: where debuginfod has it.
std::vector<std::string> PlacesOf(const DebugFileQuestion& question,
                                  const std::string& path) {
  std::vector<std::string> places;
  const std::string& name = question.name;
  if (IsBuildId(question.build_id)) {
    places.push_back(base::DebugFile(question.build_id));
  }
  if (question.is_shared) {
    if (const std::string below = SharedName(name); !below.empty()) {
      places.push_back(absl::StrFormat("%s/.dwz/%s", kSystemDebug, below));
    }
  } else if (IsPlainName(name) && !path.empty()) {
    const auto folder = std::filesystem::path(path).parent_path();
    places.push_back(folder / name);
    places.push_back(folder / ".debug" / name);
    places.push_back(kSystemDebug + (folder / name).string());
  }
  places.emplace_back();
  return places;
}

bool IsSameFile(int one, int other) {
  struct stat first {
  }, second{};
  return fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

std::vector<std::string> CodeFilePlaces(const CodeFile& code) {
  std::vector<std::string> places = {code.path};
  if (!IsBuildId(code.build_id)) return places;
  const std::string debug = base::DebugFile(code.build_id);
  places.push_back(debug);
  // Beside it, the program itself.
  places.push_back(debug.substr(0, debug.rfind('.')));
  if (std::string kept = base::KeptFile(code.build_id, "elf"); !kept.empty()) {
    places.push_back(std::move(kept));
  }
  places.emplace_back();
  return places;
}

ScopedFd OpenCodeFile(const CodeFile& code, const std::string& place,
                      std::string& why) {
  if (place.empty()) return Fetch("debuginfod_find_executable", code.build_id);
  auto file = base::OpenRegularFile(place);
  if (!file.ok()) {
    why = std::string(file.status().message());
    return ScopedFd();
  }
  struct stat status {};
  if (base::IsFileVersion(code.build_id) && fstat(file->get(), &status) == 0 &&
      base::FileVersion(status) != code.build_id) {
    why = absl::StrFormat("it is another file: %s, recorded was %s",
                          base::FileVersion(status), code.build_id);
    return ScopedFd();
  }
  return *std::move(file);
}

ScopedFd OpenDebugFile(const DebugFileQuestion& question,
                       const std::string& path, int file) {
  std::uint64_t number = question.number;
  for (const std::string& place : PlacesOf(question, path)) {
    auto found = place.empty()
                     ? Fetch("debuginfod_find_debuginfo", question.build_id)
                     : base::OpenRegularFile(place).value_or(ScopedFd());
    if (!found.is_open() || IsSameFile(found.get(), file)) continue;
    if (number-- == 0) return found;
  }
  return ScopedFd();
}

bool IsOtherFile(const std::string& path) {
  const auto file = base::OpenRegularFile(path);
  return file.ok() && !base::ReadElfHead(base::ReadAtOf(file->get()));
}

}  // namespace countrace::rmap
