// A program's bytes with another section table or other sections.
#ifndef COUNTRACE_TESTS_RUNTIME_RECORDER_KERNEL_HOOKS_ELF_SECTIONS_H_
#define COUNTRACE_TESTS_RUNTIME_RECORDER_KERNEL_HOOKS_ELF_SECTIONS_H_

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace countrace::runtime {

class ElfSections {
 public:
  explicit ElfSections(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE(bytes_.size() > sizeof(head_));
    std::memcpy(&head_, bytes_.data(), sizeof(head_));
    headers.resize(head_.e_shnum);
    std::memcpy(headers.data(), &bytes_[head_.e_shoff],
                headers.size() * sizeof(Elf64_Shdr));
  }

  const Elf64_Ehdr& head() const { return head_; }
  Elf64_Shdr& Find(const std::string& name) {
    for (Elf64_Shdr& header : headers) {
      if (&bytes_[headers[head_.e_shstrndx].sh_offset + header.sh_name] ==
          name) {
        return header;
      }
    }
    FAIL("no section " << name);
    return headers.front();
  }
  // The section has this content, at the end of the file.
  void Replace(const std::string& name, const std::string& content) {
    Elf64_Shdr& header = Find(name);
    header.sh_offset = bytes_.size();
    header.sh_size = content.size();
    bytes_ += content;
  }
  // Writes the file, with the headers behind all else.
  void Write(const std::string& path) {
    WriteWithNumber(path, static_cast<Elf64_Half>(headers.size()));
  }
  // The same; its first header says that it has so many of them.
  void WriteWithNumber(const std::string& path, Elf64_Half number) {
    head_.e_shoff = bytes_.size();
    head_.e_shnum = number;
    std::memcpy(bytes_.data(), &head_, sizeof(head_));
    bytes_.append(reinterpret_cast<const char*>(headers.data()),
                  headers.size() * sizeof(Elf64_Shdr));
    std::ofstream(path, std::ios::binary) << bytes_;
  }

  std::vector<Elf64_Shdr> headers;

 private:
  std::string bytes_;
  Elf64_Ehdr head_{};
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_TESTS_RUNTIME_RECORDER_KERNEL_HOOKS_ELF_SECTIONS_H_
