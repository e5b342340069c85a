// Files of code that need too much, or end their reader: the others keep their
// names, and the limit is named.
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/posix/temporary_directory.h"
#include "rmap/samples/names/code_places.h"
#include "rmap/samples/names/symbolizer.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kCode = 0x1000, kCodeBytes = 0x1000;

// A program of one page of code, with `symbols` symbols that all cover it, and
// compressed debug information that says that it has so many bytes.
void WriteProgram(const std::string& path, std::uint64_t symbols,
                  std::uint64_t debug_bytes = 0) {
  std::string file(2 * kCode, '\0');
  const auto put = [&file](std::size_t at, const auto& what) {
    std::memcpy(file.data() + at, &what, sizeof(what));
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 3;
  Elf64_Phdr part{};
  part.p_type = PT_LOAD;
  part.p_flags = PF_R | PF_X;
  part.p_filesz = part.p_memsz = kCode + kCodeBytes;
  part.p_align = 0x1000;
  put(sizeof(Elf64_Ehdr), part);
  const std::string names("\0.text\0.symtab\0.strtab\0work\0.debug_info\0", 40);
  const std::uint64_t table_at = file.size();
  Elf64_Sym symbol{};
  file.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
  symbol.st_name = 23;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;
  symbol.st_value = kCode;
  symbol.st_size = kCodeBytes;
  for (std::uint64_t i = 0; i < symbols; ++i) {
    file.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
  }
  const std::uint64_t names_at = file.size();
  file += names;
  const std::uint64_t debug_at = file.size();
  Elf64_Chdr debug{};
  debug.ch_type = ELFCOMPRESS_ZLIB;
  debug.ch_size = debug_bytes;
  debug.ch_addralign = 1;
  file.append(reinterpret_cast<const char*>(&debug), sizeof(debug));
  // libelf refuses more than zlib can make of so much.
  file.append(debug_bytes / 1000, '\0');
  const std::uint64_t debug_end = file.size();
  header.e_shoff = file.size();
  put(0, header);
  Elf64_Shdr sections[5] = {};
  sections[1] = {1,
                 SHT_PROGBITS,
                 SHF_ALLOC | SHF_EXECINSTR,
                 kCode,
                 kCode,
                 kCodeBytes,
                 0,
                 0,
                 16,
                 0};
  sections[2] = {
      7, SHT_SYMTAB,    0, 0, table_at, (symbols + 1) * sizeof(symbol), 3, 1,
      8, sizeof(symbol)};
  sections[3] = {15, SHT_STRTAB, 0, 0, names_at, names.size(), 0, 0, 1, 0};
  sections[4] = {28,
                 SHT_PROGBITS,
                 SHF_COMPRESSED,
                 0,
                 debug_at,
                 debug_end - debug_at,
                 0,
                 0,
                 1,
                 0};
  if (debug_bytes == 0) sections[4] = {};
  file.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  std::ofstream(path, std::ios::binary) << file;
}

std::vector<std::uint64_t> Offsets(std::uint64_t count) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < count; ++i) offsets.push_back(kCode + i);
  return offsets;
}

// The process that reads files for this one; 0: there is none.
pid_t Reader() {
  std::ifstream list("/proc/self/task/" + std::to_string(gettid()) +
                     "/children");
  for (pid_t child = 0; list >> child;) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
    if (name == "countrace-code") return child;
  }
  return 0;
}

class Folder {
 public:
  Folder() {
    auto made = base::TemporaryDirectory::Create();
    REQUIRE(made.ok());
    directory_ = *std::move(made);
    WriteProgram(Path("good"), 1);
  }
  std::string Path(const std::string& name) const {
    return directory_->path() + "/" + name;
  }
  CodeFile File(const std::string& name) const { return {Path(name), ""}; }

 private:
  std::unique_ptr<base::TemporaryDirectory> directory_;
};

}  // namespace

TEST_CASE("code jail: the reader is no user and can do nothing") {
  const Folder folder;
  Symbolizer symbolizer;
  REQUIRE(symbolizer.NamesOf(folder.File("good"), kCode).back().function ==
          "work");
  const pid_t reader = Reader();
  REQUIRE(reader != 0);
  std::ifstream file("/proc/" + std::to_string(reader) + "/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  for (const char* line :
       {"\nCapEff:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n",
        "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"}) {
    CAPTURE(line);
    CHECK(status.find(line) != std::string::npos);
  }
  CHECK(status.find("\nUid:\t0\t") == std::string::npos);
  // One for the process, however many symbolizers there are.
  Symbolizer other;
  CHECK(other.NamesOf(folder.File("good"), kCode).back().function == "work");
  CHECK(Reader() == reader);
}

TEST_CASE("code jail: a reader that dies costs one file its names at most") {
  const Folder folder;
  WriteProgram(folder.Path("other"), 1);
  Symbolizer symbolizer;
  REQUIRE(symbolizer.NamesOf(folder.File("good"), kCode).back().function ==
          "work");
  REQUIRE(symbolizer.NamesOf(folder.File("other"), kCode).back().function ==
          "work");
  // It had two files: which was the cause is not known, so each is tried again.
  const pid_t first = Reader();
  REQUIRE(kill(first, SIGSEGV) == 0);
  CHECK(symbolizer.NamesOf(folder.File("good"), kCode + 1).back().function ==
        "work");
  CHECK(Reader() != first);
  // Now it has one.
  REQUIRE(kill(Reader(), SIGSEGV) == 0);
  CHECK(symbolizer.NamesOf(folder.File("good"), kCode + 2).back().function ==
        "[not named: the file is damaged]");
  REQUIRE(symbolizer.messages().size() == 1);
  CHECK(symbolizer.messages()[0].find("/good has no names here") !=
        std::string::npos);
  CHECK(symbolizer.NamesOf(folder.File("other"), kCode + 1).back().function ==
        "work");
  // What was named before keeps its names.
  CHECK(symbolizer.NamesOf(folder.File("good"), kCode).back().function ==
        "work");
}

TEST_CASE("code jail: a file that needs more memory than the limit") {
  const Folder folder;
  WriteProgram(folder.Path("large"), 1, std::uint64_t{3} << 30);
  Samples samples;
  samples.files = {{}, folder.File("large"), folder.File("good")};
  samples.frames = {{}, {0, 1, kCode, 0}, {0, 2, kCode, 0}};
  CodePlaces functions(samples, SampleBy::kFunction);
  CHECK(functions[functions.Of(1).front()].function ==
        "[not named: 1 GiB of memory]");
  CHECK(functions[functions.Of(2).front()].function == "work");
  CodePlaces lines(samples, SampleBy::kLine);
  CHECK(lines[lines.Of(1).front()].source == "[not named: 1 GiB of memory]");
  CHECK(lines[lines.Of(2).front()].source == "[no lines]");
}

TEST_CASE("code jail: a file that needs more time than the limit") {
  const Folder folder;
  // Each address is in all of them; no vector of them is too large.
  WriteProgram(folder.Path("slow"), 4'000'000);
  Symbolizer symbolizer;
  symbolizer.Expect(folder.File("slow"), Offsets(1024));
  CHECK(symbolizer.NamesOf(folder.File("slow"), kCode).back().function ==
        "[not named: 20 s of CPU time]");
  CHECK(symbolizer.NamesOf(folder.File("good"), kCode).back().function ==
        "work");
}

TEST_CASE("code jail: without its program files have no names, and a reason") {
  const Folder folder;
  if (Reader() != 0) kill(Reader(), SIGKILL);
  setenv("COUNTRACE_CODE", folder.Path("absent").c_str(), 1);
  Symbolizer symbolizer;
  // The one that was killed is found out first.
  symbolizer.NamesOf(folder.File("good"), kCode);
  WriteProgram(folder.Path("next"), 1);
  CHECK(symbolizer.NamesOf(folder.File("next"), kCode).back().function == "");
  unsetenv("COUNTRACE_CODE");
  bool is_said = false;
  for (const std::string& message : symbolizer.messages()) {
    is_said |= message.find("COUNTRACE_CODE=") != std::string::npos;
  }
  CHECK(is_said);
}

}  // namespace countrace::rmap
