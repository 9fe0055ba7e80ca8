#include "launch/cli/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace meantime::launch {
namespace {

using Words = std::vector<std::string>;

CommandLine parsed(const Words& words) {
  const ParsedCommandLine result = parse_command_line(words);
  EXPECT_EQ(result.error, "");
  return result.command.value_or(CommandLine{});
}

std::string refusal(const Words& words) {
  const ParsedCommandLine result = parse_command_line(words);
  EXPECT_FALSE(result.command.has_value());
  EXPECT_EQ(result.status, 2);
  return result.error;
}

TEST(CommandLine, OptionsEndAtTheProgram) {
  const CommandLine line = parsed({"-n", "4", "-genv", "A", "b", "./solve", "-n", "7"});
  EXPECT_EQ(line.ranks(), 4);
  ASSERT_EQ(line.programs.size(), 1U);
  EXPECT_EQ(line.programs[0].arguments, (Words{"./solve", "-n", "7"}));
  EXPECT_EQ(line.environment, (std::vector<EnvironmentEdit>{{"A", "b"}}));
  EXPECT_EQ(parsed({"-n", "2", "--", "-odd"}).programs.at(0).arguments, Words{"-odd"});
}

TEST(CommandLine, AColonBeginsAProgramOfItsOwn) {
  const CommandLine line =
      parsed({"-n", "1", "-wdir", "/", "./one", ":", "-n", "2", "-env", "A", "b", "./two", "x"});
  EXPECT_EQ(line.ranks(), 3);
  ASSERT_EQ(line.programs.size(), 2U);
  EXPECT_EQ(line.programs[0].directory, "/");
  EXPECT_EQ(line.programs[1].directory, "");
  EXPECT_EQ(line.programs[1].arguments, (Words{"./two", "x"}));
  EXPECT_EQ(line.programs[1].environment, (std::vector<EnvironmentEdit>{{"A", "b"}}));
  EXPECT_TRUE(line.environment.empty());
}

TEST(CommandLine, DashesAndSpellingsOfOthersAreTheSame) {
  for (const Words& words :
       {Words{"-np", "2", "-bind-to", "core", "a"}, Words{"--n", "2", "--bind=core", "a"}}) {
    const CommandLine line = parsed(words);
    EXPECT_EQ(line.ranks(), 2);
    EXPECT_EQ(line.binding, Binding::core);
  }
}

TEST(CommandLine, TimeoutIsMpichsVariableUnlessTyped) {
  setenv("MPIEXEC_TIMEOUT", "7", 1);
  EXPECT_EQ(parsed({"a"}).timeout_seconds, 7);
  EXPECT_EQ(parsed({"--timeout", "3", "a"}).timeout_seconds, 3);
  unsetenv("MPIEXEC_TIMEOUT");
  EXPECT_EQ(parsed({"a"}).timeout_seconds, 0);
}

TEST(CommandLine, WhatMakesNoSenseIsRefused) {
  EXPECT_NE(refusal({}).find("no program"), std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "a", ":"}).find("':'"), std::string::npos);
  EXPECT_NE(refusal({"--stdin", "2", "-n", "2", "a"}).find("ranks 0 to 1"), std::string::npos);
  for (const Words& words : {Words{"-n", "0", "a"}, Words{"-n", "two", "a"}, Words{"-n"},
                             Words{"--on-deadlock", "hope", "a"}, Words{"--no-such", "a"}}) {
    EXPECT_NE(refusal(words), "");
  }
}

TEST(CommandLine, HelpNeedsNoProgram) {
  const ParsedCommandLine help = parse_command_line({"--help"});
  EXPECT_NE(help.output, "");
  EXPECT_EQ(help.status, 0);
}

}  // namespace
}  // namespace meantime::launch
