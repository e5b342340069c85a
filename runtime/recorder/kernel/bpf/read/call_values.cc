#include "runtime/recorder/kernel/bpf/read/call_values.h"

#include <linux/magic.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/bpf/read/socket_address.h"

namespace countrace::runtime {
namespace {

using logformat::PayloadType;

#ifndef SOCKFS_MAGIC
constexpr std::uint64_t SOCKFS_MAGIC = 0x534f434b;
#endif
#ifndef PID_FS_MAGIC
constexpr std::uint64_t PID_FS_MAGIC = 0x50494446;
#endif

constexpr std::size_t kMostTextBytes = COUNTRACE_CALL_TEXT_BYTES - 2;
constexpr std::string_view kUnreadable = "(unreadable)";

std::uint64_t Word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t word = 0;
  if ((index + 1) * sizeof(word) > bytes.size()) return 0;
  std::memcpy(&word, bytes.data() + index * sizeof(word), sizeof(word));
  return word;
}

std::string_view Text(std::span<const std::byte> bytes, std::size_t from) {
  if (from >= bytes.size()) return {};
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()) + from,
                             bytes.size() - from);
  return all.substr(0, all.find('\0'));
}

std::string_view Part(std::span<const std::byte> bytes, std::size_t from,
                      std::size_t count) {
  if (from > bytes.size()) return {};
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),
                          bytes.size())
      .substr(from, count);
}

// Words with a NUL behind each; the last one may be cut.
std::string WordsText(std::string_view words) {
  std::string text(words);
  if (text.ends_with('\0')) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// `names`: a file's name and those of the folders above, each with its NUL.
std::string PathOf(std::string_view names, std::uint64_t flags) {
  std::string path;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('\0'));
    path.insert(0, "/" + std::string(name));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  if ((flags & COUNTRACE_FILE_CUT) != 0) path.insert(0, "...");
  if (path.empty()) path = "/";
  if ((flags & COUNTRACE_FILE_UNLINKED) != 0) path += " (deleted)";
  return path;
}

// As /proc/PID/fd shows it.
std::string NameOf(std::string_view names, std::uint64_t flags,
                   std::uint64_t inode, std::uint64_t file_system) {
  switch (file_system) {
    case PIPEFS_MAGIC:
      return absl::StrFormat("pipe:[%d]", inode);
    case SOCKFS_MAGIC:
      return absl::StrFormat("socket:[%d]", inode);
    case PID_FS_MAGIC:
      return "anon_inode:[pidfd]";
    case ANON_INODE_FS_MAGIC:
      return absl::StrFormat("anon_inode:%s",
                             names.substr(0, names.find('\0')));
    default:
      return PathOf(names, flags);
  }
}

}  // namespace

std::size_t CallValues::FileBytes(std::uint64_t word) {
  return (COUNTRACE_FILE_HEAD_BYTES + (word >> 32) + 7) / 8 * 8;
}

void CallValues::Define(std::span<const std::byte> entry) {
  const std::uint64_t head = Word(entry, 1);
  const std::size_t number = head & 0xffff;
  const std::size_t bytes = head >> 32;
  if (number >= COUNTRACE_FILE_NUMBERS ||
      entry.size() < COUNTRACE_FILE_HEAD_BYTES ||
      bytes > entry.size() - COUNTRACE_FILE_HEAD_BYTES) {
    return;
  }
  const std::string_view names(
      reinterpret_cast<const char*>(entry.data()) + COUNTRACE_FILE_HEAD_BYTES,
      bytes);
  if (files_.size() <= number) files_.resize(number + 1);
  files_[number] =
      NameOf(names, head >> 16 & 0xffff, Word(entry, 2), Word(entry, 3));
}

void CallValues::AddText(std::string_view text) {
  if (text.size() <= kMostTextBytes) {
    out_ += text;
  } else {
    ++cut_;
    out_ += text.substr(0, kMostTextBytes - 1);
    out_ += logformat::kCutTextEnd;
  }
  out_ += '\0';
}

void CallValues::AddFile(std::uint64_t number_and_1) {
  if (number_and_1 == COUNTRACE_FILE_UNNAMED) {
    ++unreadable_;
    return AddText(kUnreadable);
  }
  const std::size_t number = number_and_1 - 1;
  AddText(number < files_.size() ? std::string_view(files_[number])
                                 : std::string_view());
}

void CallValues::AddNumber(const SyscallArgument& argument,
                           std::uint64_t word) {
  const unsigned unused = 64 - 8u * argument.bytes;
  const std::uint64_t high = word << unused;
  const std::uint64_t value =
      argument.type == PayloadType::kInt
          ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >>
                                       unused)
          : high >> unused;
  out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string_view CallValues::Convert(std::uint32_t number, bool exit,
                                     std::span<const std::byte> values) {
  out_.clear();
  if (calls_ == nullptr || number >= calls_->size()) return {};
  const auto& [arguments, layout] = (*calls_)[number];
  const std::uint64_t lengths = Word(values, 0) >> 16;
  std::size_t file = exit ? 1 : 1 + arguments.size();
  const auto descriptors = static_cast<std::size_t>(
      std::count(layout.kinds, layout.kinds + layout.count,
                 static_cast<unsigned char>(COUNTRACE_CALL_FD)));
  const bool returns_file = (layout.results & COUNTRACE_RETURNS_FD) != 0;
  std::size_t text = (file + (exit ? (returns_file ? 1 : 0) : descriptors)) * 8;
  if (exit && returns_file) AddFile(Word(values, file));
  unsigned texts = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const unsigned kind = layout.kinds[i];
    if (!exit &&
        (kind == COUNTRACE_CALL_GIVEN_ADDRESS || kind == COUNTRACE_CALL_ARGV)) {
      continue;
    }
    if (arguments[i].type == PayloadType::kString) {
      const std::uint64_t bytes = lengths >> 16 * texts++ & 0xffff;
      if (bytes == COUNTRACE_CALL_UNREADABLE) {
        if (exit) ++unreadable_;
        AddText(kUnreadable);
      } else if (bytes != 0) {
        AddText(kind == COUNTRACE_CALL_TEXT ? std::string(Text(values, text))
                : kind == COUNTRACE_CALL_ARGV
                    ? WordsText(Part(values, text, bytes))
                    : SocketAddressText(Part(values, text, bytes)));
        text += bytes;
      } else {
        AddText(exit ? "" : "(null)");
      }
    } else if (!exit) {
      AddNumber(arguments[i], Word(values, 1 + i));
      if (kind == COUNTRACE_CALL_FD) {
        AddFile(Word(values, file++));
      }
    }
  }
  return out_;
}

}  // namespace countrace::runtime
