#include "rmap/samples/names/symbolizer.h"

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
#include "rmap/samples/names/code_files.h"
#include "rmap/samples/names/code_process.h"

namespace countrace::rmap {

using base::MessageReader;
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
  std::unordered_map<std::uint64_t, Mnemonic> mnemonics;  // by address

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
    const CodeAnswer answer = CodeProcess::Get().Call(
        base::MessageOf(CodeMessage::kOpen, number), fd.get(), find);
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
    CodeMessage kind{};
    reader >> kind;
    if (kind != CodeMessage::kAnswer) {
      reader >> why;
      return false;
    }
    OpenedCode opened;
    // The kernel shows 20 bytes of a longer one.
    if (!(reader >> opened).is_whole() ||
        (!code.build_id.empty() && !base::IsFileVersion(code.build_id) &&
         !opened.build_id.starts_with(code.build_id))) {
      CodeProcess::Get().Close(number);
      why = absl::StrFormat(
          "its build id is %s, recorded was %s",
          opened.build_id.empty() ? "absent" : opened.build_id, code.build_id);
      return false;
    }
    struct stat status {};
    if (is_own && fstat(fd.get(), &status) == 0) file.owner = status.st_uid;
    file.place = place;
    file.number = number;
    file.parts = std::move(opened.parts);
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

template <typename Answer>
bool Symbolizer::Ask(OpenFile& file, CodeMessage kind,
                     const std::vector<std::uint64_t>& numbers, Answer& out,
                     std::string& why) {
  for (int attempt = 0; attempt < 3 && file.limit.empty(); ++attempt) {
    if (file.number == 0 && !Take(file.code, file.place, file, why)) break;
    if (!file.limit.empty()) break;
    // Files with debug information were found when it was opened.
    CodeAnswer answer = CodeProcess::Get().Call(
        base::MessageOf(kind, file.number, numbers), -1, nullptr);
    if (!answer.missing.empty()) break;
    if (!answer.limit.empty()) {
      file.number = 0;
      if (!answer.is_shared || attempt > 0) GiveUp(file, answer.limit);
      continue;
    }
    MessageReader reader(answer.text);
    CodeMessage got{};
    reader >> got;
    if (got == CodeMessage::kNoFile) {
      file.number = 0;  // another file ended the process that had it
      continue;
    }
    if (got == CodeMessage::kAnswer) return (reader >> out).is_whole();
    reader >> why;
    break;
  }
  return false;
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
    NamedAddresses names;
    std::string why;
    if (!Ask(file, CodeMessage::kNames, part, names, why)) return;
    if (names.addresses.size() != part.size() || !names.IsSound()) continue;
    const auto batch = static_cast<std::uint32_t>(file.batches.size());
    file.batches.push_back(std::move(names));
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

const NamedAddress* Symbolizer::NameOf(OpenFile& file, std::uint64_t address,
                                       const std::vector<std::string>** texts) {
  if (!file.named.contains(address)) Look(file, {address});
  const auto found = file.named.find(address);
  if (found == file.named.end()) return nullptr;
  const auto& [batch, number] = found->second;
  if (texts != nullptr) *texts = &file.batches[batch].texts;
  return &file.batches[batch].addresses[number];
}

std::vector<CodeName> Symbolizer::NamesAt(const CodeFile& code,
                                          std::uint64_t address) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return {{}};
  const std::vector<std::string>* texts = nullptr;
  const NamedAddress* const named = NameOf(*file, address, &texts);
  if (named == nullptr) return {{file->limit, false, {}, 0}};
  std::vector<CodeName> out;
  for (const NamedAddress::Frame& frame : named->frames) {
    out.push_back({(*texts)[frame.function], frame.inlined,
                   (*texts)[frame.file], frame.line});
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
  const std::vector<std::string>* texts = nullptr;
  const NamedAddress* const named =
      NameOf(*file, part->address + (offset - part->offset), &texts);
  if (named != nullptr && named->has_symbol && named->bytes != 0 &&
      !named->is_function) {
    return {Kind::kObject, (*texts)[named->frames.back().function]};
  }
  return {part->is_code ? Kind::kCode : Kind::kNoSymbol};
}

std::optional<CodeRange> Symbolizer::RangeOf(const CodeFile& code,
                                             std::uint64_t address) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return std::nullopt;
  const NamedAddress* const named = NameOf(*file, address);
  if (named == nullptr || !named->has_symbol || named->into > address) {
    return std::nullopt;
  }
  const std::uint64_t begin = address - named->into;
  // A symbol without a size has at least the code at this address.
  return CodeRange{begin, std::max(begin + named->bytes, address + 1)};
}

absl::StatusOr<std::vector<Instruction>> Symbolizer::InstructionsOf(
    const CodeFile& code, const CodeRange& range) {
  OpenFile* const file = Open(code);
  std::string why = "it cannot be read";
  if (file != nullptr) {
    std::vector<Instruction> instructions;
    if (Ask(*file, CodeMessage::kInstructions, {range.begin, range.end},
            instructions, why) &&
        !instructions.empty()) {
      return instructions;
    }
    if (!file->limit.empty()) why = file->limit;
  }
  return absl::UnavailableError(
      absl::StrFormat("no code of %s at 0x%x: %s", base::EscapeName(code.path),
                      range.begin, base::EscapeName(why)));
}

void Symbolizer::ExpectMnemonics(const CodeFile& code,
                                 const std::vector<std::uint64_t>& offsets) {
  OpenFile* const file = Open(code);
  if (file == nullptr) return;
  std::vector<std::uint64_t> part;
  const auto look = [&] {
    std::vector<Mnemonic> found;
    std::string why;
    const bool done = Ask(*file, CodeMessage::kMnemonics, part, found, why);
    if (!done && !why.empty() && file->mnemonics.empty()) {
      messages_.push_back(
          absl::StrFormat("the instructions of %s are not known: %s",
                          base::EscapeName(code.path), base::EscapeName(why)));
    }
    found.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      file->mnemonics.emplace(part[i], std::move(found[i]));
    }
    part.clear();
  };
  for (const std::uint64_t offset : offsets) {
    const auto address = file->AddressOf(offset);
    if (!address || file->mnemonics.contains(*address)) continue;
    part.push_back(*address);
    if (part.size() == kMostAddresses) look();
  }
  if (!part.empty()) look();
}

Mnemonic Symbolizer::MnemonicAt(const CodeFile& code, std::uint64_t offset) {
  ExpectMnemonics(code, {offset});
  OpenFile* const file = Open(code);
  const auto address = AddressOf(code, offset);
  Mnemonic found;
  if (file != nullptr && address) found = file->mnemonics[*address];
  if (!found.name.empty()) return found;
  return {file == nullptr || file->limit.empty() ? "[no code]" : file->limit,
          ""};
}

std::optional<std::uint32_t> Symbolizer::OwnerOf(const CodeFile& code) {
  const OpenFile* const file = Open(code);
  return file == nullptr ? std::nullopt : file->owner;
}

}  // namespace countrace::rmap
