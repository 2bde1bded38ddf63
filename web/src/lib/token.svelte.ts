// May this page edit, compile and spend?
//
// The command that opens the page hands the token over in the fragment of the address, which no browser
// sends anywhere. It is kept for this tab and taken out of the address, so that it is not in the history.

const KEY = 'fingerpost-token'

function take(): string {
  const given = /^#token=([^&]+)/.exec(location.hash)
  if (given?.[1]) {
    const value = decodeURIComponent(given[1])
    sessionStorage.setItem(KEY, value)
    history.replaceState(null, '', `${location.pathname}${location.search}#/`)
    return value
  }
  return sessionStorage.getItem(KEY) ?? ''
}

export const token = $state({ value: take() })
