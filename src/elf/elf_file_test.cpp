// What is read of a small file that is made here, whole and damaged, and of this test itself.
#include "elf/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace meantime::launch {
namespace {

#if defined(__aarch64__)
constexpr Elf64_Half machine = EM_AARCH64;
constexpr Elf64_Xword indirect = R_AARCH64_IRELATIVE;
#else
constexpr Elf64_Half machine = EM_X86_64;
constexpr Elf64_Xword indirect = R_X86_64_IRELATIVE;
#endif

/// A library that needs another one and has a function that the linker resolves by a call.
struct Library {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  Elf64_Dyn dynamic[7]{};
  Elf64_Rela relocation{};
  char strings[24] = "\0liba.so\0/opt/lib";

  Library() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_phoff = offsetof(Library, segments);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    segments[0].p_type = PT_LOAD;
    segments[0].p_filesz = sizeof(Library);
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = offsetof(Library, dynamic);
    segments[1].p_filesz = sizeof dynamic;
    const std::pair<Elf64_Sxword, Elf64_Xword> entries[] = {
        {DT_STRTAB, offsetof(Library, strings)},
        {DT_STRSZ, sizeof strings},
        {DT_NEEDED, 1},
        {DT_RUNPATH, 9},
        {DT_RELA, offsetof(Library, relocation)},
        {DT_RELASZ, sizeof relocation}};
    for (std::size_t i = 0; i < std::size(entries); ++i) {
      dynamic[i] = {entries[i].first, {entries[i].second}};
    }
    relocation.r_info = ELF64_R_INFO(0, indirect);
  }
};

class ElfFileTest : public testing::Test {
 protected:
  ElfFileTest() { close(mkstemp(path_)); }
  ~ElfFileTest() override { unlink(path_); }

  const char* written(const Library& library, std::size_t bytes = sizeof(Library)) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(&library), static_cast<std::streamsize>(bytes));
    return path_;
  }

 private:
  char path_[32] = "/tmp/elf_file_test.XXXXXX";
};

TEST_F(ElfFileTest, TellsWhatItNeeds) {
  ElfFile file;
  ASSERT_TRUE(file.open(written({})));
  EXPECT_TRUE(file.dynamic());
  EXPECT_TRUE(file.position_independent());
  EXPECT_TRUE(file.without_interpreter());
  EXPECT_EQ(file.needed(), std::vector<std::string>{"liba.so"});
  EXPECT_EQ(file.run_path(), "/opt/lib");
  EXPECT_EQ(file.old_run_path(), "");
  EXPECT_TRUE(file.runs_when_loaded());
}

TEST_F(ElfFileTest, KnowsTheSameWhenItIsMoved) {
  ElfFile first;
  ASSERT_TRUE(first.open(written({})));
  const ElfFile second = std::move(first);
  EXPECT_EQ(second.run_path(), "/opt/lib");
  EXPECT_TRUE(second.runs_when_loaded());
}

TEST_F(ElfFileTest, NothingIsReadOutsideADamagedFile) {
  for (std::size_t bytes = 0; bytes < sizeof(Library); ++bytes) {
    ElfFile file;
    EXPECT_EQ(file.open(written({}, bytes)), bytes >= sizeof(Elf64_Ehdr)) << bytes;
  }
  for (std::size_t place = SELFMAG; place < offsetof(Library, strings); ++place) {
    Library library;
    reinterpret_cast<unsigned char*>(&library)[place] = 0xff;
    ElfFile file;
    if (file.open(written(library))) {
      EXPECT_LE(file.needed().size(), 1U);
      static_cast<void>(file.runs_when_loaded());
      EXPECT_FALSE(file.has_symbol("MPI_"));
      EXPECT_TRUE(file.imports("MPI_").empty());
    }
  }
}

TEST_F(ElfFileTest, AnotherProcessorIsNamed) {
  Library library;
  EXPECT_EQ(foreign_processor(written(library)), "");
  library.header.e_machine = EM_RISCV;
  EXPECT_NE(foreign_processor(written(library)).find("64-bit RISC-V"), std::string::npos);
  EXPECT_FALSE(ElfFile().open(written(library)));
}

extern "C" void this_function_is_here() {}

TEST(ElfFile, ReadsTheSymbolsOfThisTest) {
  ElfFile file;
  ASSERT_TRUE(file.open("/proc/self/exe"));
  EXPECT_FALSE(file.without_interpreter());
  EXPECT_TRUE(file.has_symbol("this_function_is"));
  EXPECT_FALSE(file.has_symbol("no_such_function"));
  EXPECT_FALSE(file.imports("__libc_start_main").empty());
  EXPECT_FALSE(file.in_function(0));
}

}  // namespace
}  // namespace meantime::launch
