// Build ids of files, whole, damaged and made to cost: against libelf, and
// against what was written.
#include "base/code/elf_identity.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/code/file_version.h"
#include "base/posix/scoped_fd.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::base {
namespace {

constexpr std::uint64_t kMostRead = sizeof(Elf64_Ehdr) +
                                    kMostProgramHeaders * sizeof(Elf64_Phdr) +
                                    kMostNoteBytes;
constexpr std::uint64_t kBytes3G = std::uint64_t{3} << 30;

struct Shape {
  bool is_64 = true, big_endian = false;
  std::uint64_t align = 4;
};

// A file's bytes, in its byte order.
class Image {
 public:
  explicit Image(const Shape& shape) : shape_(shape) {}

  void Put(std::size_t at, std::uint64_t value, std::size_t size) {
    if (bytes_.size() < at + size) bytes_.resize(at + size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t shift = 8 * (shape_.big_endian ? size - 1 - i : i);
      bytes_[at + i] = static_cast<char>(value >> shift);
    }
  }
  void Head(std::uint64_t headers_at, std::uint64_t count) {
    bytes_.resize(shape_.is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
    std::memcpy(bytes_.data(), ELFMAG, SELFMAG);
    bytes_[EI_CLASS] = shape_.is_64 ? ELFCLASS64 : ELFCLASS32;
    bytes_[EI_DATA] = shape_.big_endian ? ELFDATA2MSB : ELFDATA2LSB;
    bytes_[EI_VERSION] = EV_CURRENT;
    Put(shape_.is_64 ? 32 : 28, headers_at, number());
    Put(shape_.is_64 ? 54 : 42, header_bytes(), 2);
    Put(shape_.is_64 ? 56 : 44, count, 2);
  }
  void Segment(std::size_t at, std::uint32_t type, std::uint64_t offset,
               std::uint64_t bytes) {
    bytes_.resize(std::max(bytes_.size(), at + header_bytes()));
    Put(at, type, 4);
    Put(at + (shape_.is_64 ? 8 : 4), offset, number());
    Put(at + (shape_.is_64 ? 32 : 16), bytes, number());
    Put(at + (shape_.is_64 ? 48 : 28), shape_.align, number());
  }
  // Returns the offset behind it.
  std::size_t Note(std::size_t at, std::uint32_t type, const std::string& owner,
                   const std::string& text) {
    const std::size_t align = shape_.align;
    const auto behind = [align](std::size_t end) {
      return (end + align - 1) / align * align;
    };
    Put(at, owner.size(), 4);
    Put(at + 4, text.size(), 4);
    Put(at + 8, type, 4);
    const std::size_t text_at = at + behind(12 + owner.size());
    const std::size_t end = text_at + text.size();
    bytes_.resize(std::max(bytes_.size(), behind(end)));
    bytes_.replace(at + 12, owner.size(), owner);
    bytes_.replace(text_at, text.size(), text);
    return at + behind(end - at);
  }
  std::size_t header_bytes() const {
    return shape_.is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::size_t number() const { return shape_.is_64 ? 8 : 4; }

  const Shape shape_;
  std::string bytes_;
};

const std::string kGnu("GNU", 4);
const std::string kId = "\x01\x23\x45\x67\x89\xab\xcd\xef";

// Segments: loaded, notes. Notes: another owner's, another type, the id.
std::string Program(const Shape& shape) {
  Image image(shape);
  image.Head(64, 2);
  image.Segment(64, PT_LOAD, 0, 4096);
  const std::size_t notes = 256;
  std::size_t at = image.Note(notes, NT_GNU_BUILD_ID, "Other\0", "id");
  at = image.Note(at, NT_GNU_ABI_TAG, kGnu, "0123456789abcdef0");
  at = image.Note(at, NT_GNU_BUILD_ID, kGnu, kId);
  image.Segment(64 + image.header_bytes(), PT_NOTE, notes, at - notes);
  return image.bytes();
}

std::string BuildIdOf(const std::string& bytes) {
  return ReadElfIdentity(ReadAtOf(bytes)).build_id;
}

// A file of this size with `bytes` at its begin, then zeros. Counts what is
// read.
struct Sparse {
  std::string bytes;
  std::uint64_t size = kBytes3G + 8192;
  mutable std::uint64_t read = 0, largest = 0;

  ElfIdentity Identity() const {
    return ReadElfIdentity(
        [this](std::uint64_t offset, std::span<std::byte> out) -> std::size_t {
          largest = std::max<std::uint64_t>(largest, out.size());
          if (offset >= size) return 0;
          const auto room = static_cast<std::size_t>(
              std::min<std::uint64_t>(out.size(), size - offset));
          std::fill_n(out.begin(), room, std::byte{0});
          if (offset < bytes.size()) {
            const std::string part =
                bytes.substr(static_cast<std::size_t>(offset), room);
            std::copy(part.begin(), part.end(),
                      reinterpret_cast<char*>(out.data()));
          }
          read += room;
          return room;
        });
  }
};

TEST_CASE("elf identity: an id is read in each class, order and alignment") {
  for (const bool is_64 : {false, true}) {
    for (const bool big_endian : {false, true}) {
      for (const std::uint64_t align : {4, 8}) {
        const std::string bytes = Program({is_64, big_endian, align});
        INFO(is_64 << big_endian << align);
        CHECK(BuildIdOf(bytes) == "0123456789abcdef");
        CHECK(ReadElfIdentity(ReadAtOf(bytes)).is_elf);
      }
    }
  }
}

TEST_CASE("elf identity: libelf reads the same of this machine's libraries") {
  REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
  std::vector<std::string> paths = {"/proc/self/exe"};
  for (const char* folder : {"/usr/bin", "/usr/lib/x86_64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu"}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder, error)) {
      if (paths.size() < 400 && entry.is_regular_file(error)) {
        paths.push_back(entry.path());
      }
    }
  }
  std::size_t with_id = 0, elsewhere = 0;
  for (const std::string& path : paths) {
    const ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.is_open()) continue;
    const ElfIdentity identity = ReadElfIdentity(ReadAtOf(fd.get()));
    Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
    const void* id = nullptr;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    const std::string expected = bytes > 0
                                     ? absl::BytesToHexString(absl::string_view(
                                           static_cast<const char*>(id),
                                           static_cast<std::size_t>(bytes)))
                                     : "";
    INFO(path);
    // Go's linker may leave it to the table of sections alone.
    if (identity.build_id.empty() && !expected.empty()) {
      ++elsewhere;
    } else {
      CHECK(identity.build_id == expected);
    }
    CHECK(identity.is_elf == (elf_kind(elf) == ELF_K_ELF));
    with_id += expected.empty() ? 0 : 1;
    elf_end(elf);
  }
  CHECK(with_id > 0);
  CHECK(elsewhere <= with_id / 10);
}

TEST_CASE("elf identity: what a file says that it has costs nothing") {
  const Shape shape;
  Image notes(shape);  // one segment of notes of 3 GiB
  notes.Head(64, 1);
  notes.Segment(64, PT_NOTE, 4096, kBytes3G);
  Image many(shape);  // 65,535 of them: then the real number is elsewhere
  many.Head(64, 0xffff);
  for (std::size_t i = 0; i < 2000; ++i) {
    many.Segment(64 + i * sizeof(Elf64_Phdr), PT_NOTE, 4096, kBytes3G);
  }
  Image note(shape);  // one note of 3 GiB
  note.Head(64, 1);
  note.Segment(64, PT_NOTE, 4096, kBytes3G);
  note.Note(4096, NT_GNU_BUILD_ID, kGnu, kId);
  note.Put(4096 + 4, kBytes3G - 16, 4);
  Image sections(shape);  // the real numbers are in the table of sections
  sections.Head(4096, PN_XNUM);
  sections.Put(offsetof(Elf64_Ehdr, e_shoff), 4096, 8);
  sections.Put(4096 + offsetof(Elf64_Shdr, sh_size), 12'600'000, 8);
  sections.Put(4096 + offsetof(Elf64_Shdr, sh_info), 57'000'000, 4);
  for (const Image* const image : {&notes, &many, &note, &sections}) {
    const Sparse file = {image->bytes()};
    const ElfIdentity identity = file.Identity();
    CHECK(identity.is_elf);
    CHECK(identity.build_id.empty());
    CHECK(identity.bytes_read == file.read);
    CHECK(file.read <= kMostRead);
    CHECK(file.largest <= kMostNoteBytes);
  }
}

TEST_CASE("elf identity: an id behind the limits is none") {
  const auto behind = [](std::size_t headers, std::size_t notes) {
    const Shape shape;
    Image image(shape);
    image.Head(64, headers + 1);
    const std::size_t at = 64 + headers * sizeof(Elf64_Phdr);
    image.Note(200'000 + notes, NT_GNU_BUILD_ID, kGnu, kId);
    image.Note(200'000, 77, kGnu, std::string(notes - 16, 'x'));
    image.Segment(at, PT_NOTE, 200'000, notes + 24);
    return BuildIdOf(image.bytes());
  };
  CHECK_FALSE(behind(kMostProgramHeaders - 1, kMostNoteBytes - 24).empty());
  CHECK(behind(kMostProgramHeaders, kMostNoteBytes - 24).empty());
  CHECK(behind(kMostProgramHeaders - 1, kMostNoteBytes - 20).empty());
}

TEST_CASE("elf identity: damage costs the id at most, and each byte counts") {
  const std::string whole = Program({});
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string id = BuildIdOf(whole.substr(0, size));
    INFO(size);
    REQUIRE(id == (size == whole.size() ? "0123456789abcdef" : ""));
  }
  for (unsigned seed = 0; seed < test_support::PropertyRuns(20'000u); ++seed) {
    std::mt19937_64 random(seed);
    Shape shape;
    shape.is_64 = random() % 2 == 0;
    shape.big_endian = random() % 2 == 0;
    Sparse file = {Program(shape)};
    for (std::uint64_t i = random() % 6; i > 0; --i) {
      file.bytes[random() % file.bytes.size()] = static_cast<char>(random());
    }
    // Numbers of 4 or 8 bytes, large ones, too.
    const std::size_t at = 16 + random() % (file.bytes.size() - 24);
    const std::uint64_t value = random() >> random() % 64;
    std::memcpy(&file.bytes[at], &value, random() % 2 == 0 ? 4 : 8);
    file.size = random() % 2 == 0 ? file.bytes.size() : kBytes3G;
    const ElfIdentity identity = file.Identity();
    INFO("seed " << seed);
    REQUIRE(file.read <= kMostRead);
    REQUIRE(identity.build_id.size() <= 128);
    REQUIRE(identity.bytes_read == file.read);
  }
}

TEST_CASE("elf identity: a file without an id has a version") {
  const test_support::TempDirectory folder;
  const auto identity = [&](const std::string& bytes) {
    const std::string path = folder.path() + "/file";
    std::ofstream(path, std::ios::binary) << bytes;
    const ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t read = 1;
    const std::string text = ReadFileIdentity(fd.get(), read);
    CHECK(read > bytes.size() / 100);
    return text;
  };
  CHECK(identity(Program({})) == "0123456789abcdef");
  Image without{Shape()};
  without.Head(64, 0);
  CHECK(IsFileVersion(identity(without.bytes())));
  CHECK(identity("#!/bin/sh\n").empty());
  CHECK(identity("").empty());
}

}  // namespace
}  // namespace countrace::base
