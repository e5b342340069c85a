#include "rmap/samples/symbolizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/posix/scoped_fd.h"
#include "base/text/name_escape.h"
#include "rmap/samples/code_files.h"
#include "rmap/samples/code_process.h"

namespace countrace::rmap {

using base::MessageReader;
using base::MessageWriter;
using base::ScopedFd;

struct Symbolizer::OpenFile {
  CodeFile code;
  std::string place;         // CodeFilePlaces(); empty: it was fetched
  std::uint64_t number = 0;  // of CodeProcess; 0: not open there
  std::string limit;         // "[not named: LIMIT]": it came to a limit
  std::optional<std::uint32_t> owner;
  std::vector<CodePart> parts;  // loaded
  // Batches of names, and by address in the file's own terms: batch, number in
  // the batch.
  std::vector<NamedAddresses> batches;
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>>
      named;
  std::unordered_map<std::uint64_t, CodeSymbolAt> symbols;

  std::optional<std::uint64_t> AddressOf(std::uint64_t offset) const {
    const CodePart* const part = PartOf(offset);
    if (part == nullptr) return std::nullopt;
    return part->address + (offset - part->offset);
  }
  // Null: none has it.
  const CodePart* PartOf(std::uint64_t offset) const {
    for (const CodePart& part : parts) {
      if (offset - part.offset < part.bytes && offset >= part.offset) {
        return &part;
      }
    }
    return nullptr;
  }
};

struct Symbolizer::Impl {
  std::map<std::pair<std::string, std::string>, std::unique_ptr<OpenFile>>
      files;
  std::map<std::string, bool> is_other;  // by path: IsOtherFile()
};

Symbolizer::Symbolizer() : impl_(std::make_unique<Impl>()) {}

Symbolizer::~Symbolizer() {
  for (const auto& [key, file] : impl_->files) {
    if (file != nullptr && file->number != 0) {
      CodeProcess::Get().Close(file->number);
    }
  }
}

// False: `why` says it. True: the file is open, or came to a limit.
bool Symbolizer::Take(const CodeFile& code, const std::string& place,
                      OpenFile& file, std::string& why) {
  const ScopedFd fd = OpenCodeFile(code, place, why);
  if (!fd.is_open()) return false;
  const bool is_own = place == code.path;
  const auto find = [&](const DebugFileQuestion& question) {
    return OpenDebugFile(question, is_own ? place : "", fd.get());
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::uint64_t number = CodeProcess::Get().NextNumber();
    MessageWriter request = Begin(CodeMessage::kOpen);
    request.Number(number);
    const CodeAnswer answer =
        CodeProcess::Get().Call(request.text(), fd.get(), find);
    if (!answer.missing.empty()) {
      why = answer.missing;
      return false;
    }
    if (!answer.limit.empty()) {
      // Perhaps of another file.
      if (answer.is_shared && attempt == 0) continue;
      GiveUp(file, answer.limit);
      return true;
    }
    MessageReader reader(answer.text);
    if (KindOf(reader) != CodeMessage::kAnswer) {
      why = reader.Text();
      return false;
    }
    auto opened = ReadOpened(reader);
    // The kernel shows 20 bytes of a longer one.
    if (!opened ||
        (!code.build_id.empty() && !base::IsFileVersion(code.build_id) &&
         !opened->build_id.starts_with(code.build_id))) {
      CodeProcess::Get().Close(number);
      why = absl::StrFormat(
          "its build id is %s, recorded was %s",
          !opened || opened->build_id.empty() ? "absent" : opened->build_id,
          code.build_id);
      return false;
    }
    struct stat status {};
    if (is_own && fstat(fd.get(), &status) == 0) file.owner = status.st_uid;
    file.place = place;
    file.number = number;
    file.parts = std::move(opened->parts);
    return true;
  }
  return false;
}

Symbolizer::OpenFile* Symbolizer::Open(const CodeFile& code) {
  const auto [found, added] =
      impl_->files.try_emplace({code.path, code.build_id});
  std::unique_ptr<OpenFile>& slot = found->second;
  if (!added) return slot.get();
  auto file = std::make_unique<OpenFile>();
  file->code = code;
  std::string first, why;
  for (const std::string& place : CodeFilePlaces(code)) {
    if (Take(code, place, *file, why)) {
      slot = std::move(file);
      return slot.get();
    }
    if (first.empty()) first = why;
  }
  messages_.push_back(
      absl::StrFormat("%s has no names here, its addresses are [stripped]: %s",
                      base::EscapeName(code.path), base::EscapeName(first)));
  return nullptr;
}

void Symbolizer::GiveUp(OpenFile& file, const std::string& limit) {
  file.limit = absl::StrFormat("[not named: %s]", limit);
  messages_.push_back(absl::StrFormat(
      "%s has no names here, its addresses are %s: reading it came to a limit",
      base::EscapeName(file.code.path), file.limit));
}

std::optional<std::string> Symbolizer::Ask(
    OpenFile& file, CodeMessage kind, const std::vector<std::uint64_t>& numbers,
    std::string* why) {
  for (int attempt = 0; attempt < 3 && file.limit.empty(); ++attempt) {
    std::string reason;
    if (file.number == 0 && !Take(file.code, file.place, file, reason)) break;
    if (!file.limit.empty()) break;
    MessageWriter request = Begin(kind);
    request.Number(file.number);
    for (const std::uint64_t number : numbers) request.Number(number);
    CodeAnswer answer =
        CodeProcess::Get().Call(request.text(), -1, [](const auto&) {
          return ScopedFd();  // they were found when it was opened
        });
    if (!answer.missing.empty()) break;
    if (!answer.limit.empty()) {
      file.number = 0;
      if (!answer.is_shared || attempt > 0) GiveUp(file, answer.limit);
      continue;
    }
    MessageReader reader(answer.text);
    switch (KindOf(reader)) {
      case CodeMessage::kAnswer:
        return std::move(answer.text);
      case CodeMessage::kNoFile:
        file.number = 0;  // another file ended the process that had it
        continue;
      default:
        if (why != nullptr) *why = reader.Text();
        return std::nullopt;
    }
  }
  return std::nullopt;
}

void Symbolizer::Look(OpenFile& file, std::vector<std::uint64_t> addresses) {
  std::erase_if(addresses, [&](std::uint64_t address) {
    return file.named.contains(address);
  });
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  for (std::size_t at = 0; at < addresses.size() && file.limit.empty();
       at += kMostAddresses) {
    const std::vector<std::uint64_t> part(
        addresses.begin() + static_cast<std::ptrdiff_t>(at),
        addresses.begin() + static_cast<std::ptrdiff_t>(std::min(
                                addresses.size(), at + kMostAddresses)));
    const auto answer = Ask(file, CodeMessage::kNames, part);
    if (!answer) return;
    MessageReader reader(*answer);
    KindOf(reader);
    auto names = ReadNames(reader, part.size());
    if (!names) continue;
    const auto batch = static_cast<std::uint32_t>(file.batches.size());
    file.batches.push_back(*std::move(names));
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      file.named[part[i]] = {batch, i};
    }
  }
}

void Symbolizer::Expect(const CodeFile& code,
                        const std::vector<std::uint64_t>& offsets) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return;
  std::vector<std::uint64_t> addresses;
  for (const std::uint64_t offset : offsets) {
    if (const auto address = file->AddressOf(offset)) {
      addresses.push_back(*address);
    }
  }
  Look(*file, std::move(addresses));
}

std::vector<CodeName> Symbolizer::NamesAt(const CodeFile& code,
                                          std::uint64_t address) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return {{}};
  if (!file->named.contains(address)) Look(*file, {address});
  const auto found = file->named.find(address);
  if (found == file->named.end()) return {{file->limit, false, {}, 0}};
  const auto& [batch, number] = found->second;
  const NamedAddresses& names = file->batches[batch];
  std::vector<CodeName> out;
  for (std::uint64_t i = number == 0 ? 0 : names.ends[number - 1];
       i < names.ends[number]; ++i) {
    const NamedAddresses::Frame& frame = names.frames[i];
    out.push_back({names.texts[frame.function], frame.inlined,
                   names.texts[frame.file], frame.line});
  }
  return out;
}

std::vector<CodeName> Symbolizer::NamesOf(const CodeFile& code,
                                          std::uint64_t offset) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return {{}};
  const auto address = file->AddressOf(offset);
  if (!address) return {{file->limit, false, {}, 0}};
  return NamesAt(code, *address);
}

std::optional<std::uint64_t> Symbolizer::AddressOf(const CodeFile& code,
                                                   std::uint64_t offset) {
  const OpenFile* const file = Open(code);
  return file == nullptr ? std::nullopt : file->AddressOf(offset);
}

CodeSymbolAt Symbolizer::SymbolAt(OpenFile& file, std::uint64_t address) {
  const auto [found, added] = file.symbols.try_emplace(address);
  if (!added) return found->second;
  if (const auto answer = Ask(file, CodeMessage::kSymbols, {address})) {
    MessageReader reader(*answer);
    KindOf(reader);
    found->second = ReadSymbol(reader).value_or(CodeSymbolAt());
  }
  return found->second;
}

DataObject Symbolizer::ObjectAt(const CodeFile& code, std::uint64_t offset) {
  using Kind = DataObject::Kind;
  const auto [known, added] = impl_->is_other.try_emplace(code.path, false);
  if (added) known->second = IsOtherFile(code.path);
  if (known->second) return {Kind::kNotProgram};
  OpenFile* const file = Open(code);
  if (file == nullptr) return {Kind::kNoSymbol};
  if (!file->limit.empty()) return {Kind::kObject, file->limit};
  const CodePart* const part = file->PartOf(offset);
  if (part == nullptr) return {Kind::kNoSymbol};
  const CodeSymbolAt symbol =
      SymbolAt(*file, part->address + (offset - part->offset));
  if (!symbol.name.empty() && symbol.bytes != 0 && !symbol.is_function) {
    return {Kind::kObject, symbol.name};
  }
  return {part->is_code ? Kind::kCode : Kind::kNoSymbol};
}

std::optional<CodeRange> Symbolizer::RangeOf(const CodeFile& code,
                                             std::uint64_t address) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return std::nullopt;
  const CodeSymbolAt symbol = SymbolAt(*file, address);
  if (symbol.name.empty() || symbol.into > address) return std::nullopt;
  const std::uint64_t begin = address - symbol.into;
  // A symbol without a size has at least the code at this address.
  return CodeRange{begin, std::max(begin + symbol.bytes, address + 1)};
}

absl::StatusOr<std::vector<Instruction>> Symbolizer::InstructionsOf(
    const CodeFile& code, const CodeRange& range) {
  OpenFile* const file = Open(code);
  std::string why = "it cannot be read";
  if (file != nullptr) {
    const auto answer =
        Ask(*file, CodeMessage::kInstructions, {range.begin, range.end}, &why);
    if (answer) {
      MessageReader reader(*answer);
      KindOf(reader);
      auto instructions = ReadInstructions(reader);
      if (instructions && !instructions->empty()) {
        return *std::move(instructions);
      }
    }
    if (!file->limit.empty()) why = file->limit;
  }
  return absl::UnavailableError(
      absl::StrFormat("no code of %s at 0x%x: %s", base::EscapeName(code.path),
                      range.begin, base::EscapeName(why)));
}

std::optional<std::uint32_t> Symbolizer::OwnerOf(const CodeFile& code) {
  const OpenFile* const file = Open(code);
  return file == nullptr ? std::nullopt : file->owner;
}

}  // namespace countrace::rmap
