# What the library needs. A parent project may have brought the targets already (FetchContent); then nothing is searched.
if(NOT TARGET absl::hash)
  find_package(absl CONFIG REQUIRED)
endif()
if(NOT TARGET Boost::headers)
  find_package(Boost 1.74 CONFIG REQUIRED)
endif()
if(NOT TARGET fmt::fmt)
  find_package(fmt CONFIG REQUIRED)
endif()

# Used in src/ only: no type of theirs is in a public signature.
set(GANGSCHED_PRIVATE_DEPENDENCIES absl::hash absl::strings fmt::fmt)
