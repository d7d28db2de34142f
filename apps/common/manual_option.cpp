#include "apps/common/manual_option.hpp"

#include <sstream>

namespace whilst::command {
namespace {

std::vector<std::string> alternatives(const std::string& value) {
  std::vector<std::string> words;
  if (value.find('|') == std::string::npos) return words;
  std::istringstream text(value);
  for (std::string word; std::getline(text, word, '|');) words.push_back(word);
  return words;
}

}  // namespace

std::vector<manual_option> options_of(const CLI::App& command) {
  std::vector<manual_option> all;
  for (const CLI::Option* option : command.get_options()) {
    manual_option one;
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    const bool is_flag = option->get_items_expected_max() == 0;
    if (!is_flag) one.value = option->get_option_text().empty() ? option->get_type_name() : option->get_option_text();
    one.choices = alternatives(one.value);
    one.description = option->get_description();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace whilst::command
