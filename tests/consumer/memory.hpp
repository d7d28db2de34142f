#pragma once

#include <cstdio>

/// Whether this many calls need no more memory, but for a mebibyte, than a tenth of them: Linux; true elsewhere.
template <class Call>
bool keeps_its_memory(int calls, const Call& call) {
  const auto resident_pages = [] {
    long whole = 0, resident = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld %ld", &whole, &resident) != 2) resident = 0;
      std::fclose(file);
    }
    return resident;
  };
  for (int k = 0; k < calls / 10; ++k) call();
  const long before = resident_pages();
  for (int k = calls / 10; k < calls; ++k) call();
  const long grown = resident_pages() - before;
  if (grown > 256) std::printf("%d calls took %ld pages of memory\n", calls, grown);
  return grown <= 256;
}
