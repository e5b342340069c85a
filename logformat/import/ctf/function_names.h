// Names for the addresses in lttng_ust_cyg_profile events, from LTTng-UST's
// events about loaded objects and from the symbols of those objects.
//
// Files that the trace names are read only if they are regular ELF files; their
// build id must be the recorded one, if there is one. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_FUNCTION_NAMES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_FUNCTION_NAMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/posix/scoped_fd.h"

namespace countrace::importer {

class FunctionNames {
 public:
  // Opens a file that the trace names; not open: it cannot be read.
  using OpenObject = std::function<base::ScopedFd(const std::string& path)>;

  FunctionNames();
  ~FunctionNames();

  // Without it, files are opened directly.
  void OpenBy(OpenObject open) { open_ = std::move(open); }

  void AddObject(std::int32_t pid, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& path, bool position_independent);
  void SetBuildId(std::int32_t pid, std::uint64_t begin, std::string build_id);

  // "main", "libx.so+0x1234", "0x55aa..." for an unknown address.
  std::string NameOf(std::int32_t pid, std::uint64_t address);

 private:
  struct Object {
    std::uint64_t end = 0;
    std::string path, build_id;
    bool position_independent = true;
  };
  struct Symbols;

  const Symbols& SymbolsOf(const Object& object);

  std::map<std::pair<std::int32_t, std::uint64_t>, Object> objects_;
  std::map<std::string, std::unique_ptr<Symbols>> symbols_;  // by path
  OpenObject open_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_FUNCTION_NAMES_H_
