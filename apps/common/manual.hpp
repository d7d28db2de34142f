#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

/// Texts generated from the options that a program declares, besides its help.
namespace whilst::command {

/// A manual page in the man macros: the program, its commands and all their options.
std::string man_page(const CLI::App& app);

/// A shell script that completes commands, options and, where an option takes one of a few words or a file, its value.
/// shell: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace whilst::command
