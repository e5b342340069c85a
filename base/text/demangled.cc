#include "base/text/demangled.h"

#include <cxxabi.h>
#include <libiberty/demangle.h>

#include <cstdlib>
#include <memory>

namespace countrace::base {
namespace {

constexpr std::size_t kLongestName = 4096;

using Text = std::unique_ptr<char, decltype(&std::free)>;

}  // namespace

std::string Demangled(const std::string& name) {
  if (name.size() > kLongestName ||
      (!name.starts_with("_Z") && !name.starts_with("_R"))) {
    return name;
  }
  // Rust's older mangling is valid C++, with a hash and escapes in the names.
  const Text rust(rust_demangle(name.c_str(), DMGL_NO_OPTS), &std::free);
  if (rust != nullptr) return rust.get();
  int status = 0;
  const Text text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                  &std::free);
  return text != nullptr ? text.get() : name;
}

}  // namespace countrace::base
