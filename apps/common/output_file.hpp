#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/files/written_file.hpp"

namespace whilst::command {

/// A file written completely or not at all: the text goes to a neighbouring file, which then takes the file's name and,
/// if it replaces one, its mode. Errors name the option and the path as they were given.
///
/// Checks at construction whether this will work, long before there is anything to write. Standard output (-), devices
/// and pipes (/dev/null, /dev/stdout) are written directly; a symbolic link keeps its target.
class output_file {
 public:
  /// No file: every call does nothing.
  output_file() = default;
  /// option: the file's name in errors, e.g. "--json". Throws whilst::error if path cannot be written.
  output_file(std::string option, const std::string& path);

  bool wanted() const { return target_.has_value(); }
  bool is_standard_output() const { return path_ == "-"; }
  const std::string& option() const { return option_; }
  const std::string& path() const { return path_; }
  /// The path with links resolved, to compare with others; empty for a stream.
  std::string target() const { return replaces() ? target_->path().string() : ""; }
  /// False for a device or pipe, which many may write to.
  bool replaces() const { return wanted() && !target_->is_stream(); }

  void write(std::string_view text) const;
  /// For writers that themselves write a given path completely or not at all: calls `writer` with the path.
  void write_with(const std::function<void(const std::string& path)>& writer) const;

 private:
  std::string doing() const;

  std::string option_, path_;
  std::optional<detail::write_target> target_;
};

/// An input file: its name in errors, e.g. "--rhs" or "the matrix", and its path, empty if there is none.
struct input_file {
  std::string name, path;
};

/// Throws whilst::error if an output file is also an input or an earlier output, and if two are standard output.
void require_different_files(const std::vector<input_file>& inputs, const std::vector<const output_file*>& outputs);

}  // namespace whilst::command
