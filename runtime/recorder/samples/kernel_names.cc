#include "runtime/recorder/samples/kernel_names.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"

namespace countrace::runtime {

std::optional<LocalSymbol> ParseCodeName(std::uint64_t address,
                                         std::string_view text) {
  // Names may have a plus sign or a slash, so from the end.
  std::string_view module;
  if (const std::size_t blank = text.find(" ["); blank != text.npos) {
    module = text.substr(blank);
    text = text.substr(0, blank);
  }
  const std::size_t slash = text.rfind('/');
  const std::size_t plus = text.rfind('+', slash);
  if (slash == text.npos || plus == text.npos || plus == 0) return std::nullopt;
  const absl::string_view all(text.data(), text.size());
  std::uint64_t offset = 0, bytes = 0;
  if (!absl::SimpleHexAtoi(all.substr(plus + 1, slash - plus - 1), &offset) ||
      !absl::SimpleHexAtoi(all.substr(slash + 1), &bytes) || offset >= bytes ||
      offset > address) {
    return std::nullopt;
  }
  return LocalSymbol{address - offset, bytes,
                     std::string(text.substr(0, plus)).append(module)};
}

KernelNames::KernelNames(CodeNamer namer) : namer_(std::move(namer)) {
  if (namer_ == nullptr) all_ = ReadKernelSymbols();
}

const LocalSymbol* KernelNames::Find(std::uint64_t address) {
  if (namer_ == nullptr) return all_.Find(address);
  const auto after = named_.upper_bound(address);
  if (after != named_.begin()) {
    const LocalSymbol& before = std::prev(after)->second;
    if (address - before.begin < before.bytes) return &before;
  }
  auto found = namer_(address);
  if (!found) return nullptr;
  // A module may have come where another one was.
  const std::uint64_t begin = found->begin;
  return &named_.insert_or_assign(begin, *std::move(found)).first->second;
}

std::uint64_t KernelNames::CallerAddress(std::uint64_t next) {
  if (next % base::kKernelFunctionAlignment != 0) return next - 1;
  const LocalSymbol* const symbol = Find(next);
  return symbol != nullptr && symbol->begin == next ? next : next - 1;
}

}  // namespace countrace::runtime
