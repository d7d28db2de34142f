#pragma once

// Runs a built program as a person or script would: arguments in; exit status, output and files out.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/version.hpp"

namespace whilst_test {

using strings = std::vector<std::string>;

/// The arguments and then more of them.
inline strings with(strings arguments, const strings& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Where a program of this build is: whilst at the environment variable WHILST_TEST_COMMAND, or else at the compile
/// definition of that name, and the others beside it.
inline std::string program_path(const std::string& name) {
  std::filesystem::path whilst = "build/bin/whilst";
#ifdef WHILST_TEST_COMMAND
  whilst = WHILST_TEST_COMMAND;
#endif
  if (const char* given = std::getenv("WHILST_TEST_COMMAND")) whilst = given;
  return name == "whilst" ? whilst.string() : (whilst.parent_path() / name).string();
}

/// The bytes of a file; none where it is not there.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A folder of its own, gone at the end.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "whilst-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file here; where it is.
  std::string with(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

struct outcome {
  /// The exit status; -1 where a signal ended the program.
  int status = -1;
  std::string out, err;
};

/// A run of a program, without a shell in between. input: a file for its standard input; empty: the tests' own.
class process {
 public:
  process(const std::string& program, const strings& arguments, const std::string& input = "") {
    INFO(program);
    REQUIRE(std::filesystem::exists(program));
    std::vector<char*> pointers{const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    const std::string out = at_.at("out"), err = at_.at("err");
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) {
      if (!input.empty()) ::dup2(::open(input.c_str(), O_RDONLY), STDIN_FILENO);
      ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
      ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
      ::execv(program.c_str(), pointers.data());
      ::_exit(127);
    }
  }
  ::pid_t id() const { return id_; }
  std::string out() const { return text_of(at_ / "out"); }
  void send(int signal) const { ::kill(id_, signal); }
  /// Two minutes are far more than any of the tests' runs takes: what is still there then is killed.
  outcome wait() const {
    int status = 0;
    for (int polls = 0; ::waitpid(id_, &status, WNOHANG) == 0; ++polls) {
      if (polls == 120 * 200) send(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out(), text_of(at_ / "err")};
  }

 private:
  folder at_;
  ::pid_t id_ = -1;
};

inline outcome run_program(const std::string& program, const strings& arguments, const std::string& input = "") {
  return process(program, arguments, input).wait();
}

/// "PROGRAM 0.1.0 (commit 0123...)", the latter where it was known at the build.
inline bool is_version(const std::string& program, const std::string& told) {
  return std::regex_match(told, std::regex(program + " ([0-9.]+)( \\(commit [ -~]+\\))?\n")) &&
         told.rfind(program + " " + whilst::version, 0) == 0;
}

/// Checks that run({"--version"}) tells it, and that run({"--help"}) succeeds with examples, exit statuses and these
/// parts.
template <class Run>
void check_version_and_help(const std::string& program, const Run& run, const strings& parts = {}) {
  for (const char* asked : {"--version", "-V"}) {
    const outcome told = run({asked});
    INFO(told.out << told.err);
    CHECK(told.status == 0);
    CHECK(is_version(program, told.out));
  }
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  for (const std::string& part : with(parts, {"Examples", "Exit status"})) {
    INFO(part);
    CHECK(contains(help.out, part));
  }
}

/// Arguments that a program refuses, and a part of what it says.
struct wrong_line {
  strings arguments;
  const char* message;
};
/// Checks that run(arguments) refuses each: exit status 1, a message that begins with the program's name, nothing else.
template <class Run>
void check_refused(const std::string& program, const Run& run, const std::vector<wrong_line>& wrong) {
  for (const auto& [arguments, message] : wrong) {
    const outcome result = run(arguments);
    INFO(message << " in: " << result.err);
    CHECK(result.status == 1);
    CHECK(contains(result.err, message));
    CHECK(result.err.rfind(program + ": ", 0) == 0);
    CHECK(result.out.empty());
  }
}

/// The numbers of an "array real general" file: read by hand here, not with the library's reader.
inline std::vector<double> array_entries(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  REQUIRE(line == "%%MatrixMarket matrix array real general");
  while (file.peek() == '%') std::getline(file, line);
  std::size_t rows = 0, columns = 0;
  file >> rows >> columns;
  REQUIRE(columns == 1);
  std::vector<double> entries(rows);
  for (double& entry : entries) file >> entry;
  REQUIRE(!file.fail());
  return entries;
}

}  // namespace whilst_test
